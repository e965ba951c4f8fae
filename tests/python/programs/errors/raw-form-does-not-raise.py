# `.raw` gives the whole result, `isError` included.
result = await tools.github.get_issue.raw(owner="a", repo="b", number=999)
print(result["isError"], result["content"][0]["text"])
good = await tools.shapes.typed_text.raw()
print(good.get("isError"), "structuredContent" in good, good["content"][0]["type"])
