# Sets come back sorted, bytes as text or base64.
labels = {l for i in tools.github.list_issues(owner="a", repo="b", per_page=4)["issues"] for l in i["labels"]}
return {"labels": labels, "numbers": frozenset([3, 1, 2]), "mixed": {1, "a"}, "text": "é".encode(), "raw": b"\xff\x00", "array": bytearray(b"ok")}
