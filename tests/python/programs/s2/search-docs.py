# Search over the documentation.
hits = await runtime.search_tool_docs("channel history", limit=3)
print("get_channel_history" in [h["tool"] for h in hits], len(hits) <= 3)
same = runtime.search_tool_docs_sync("channel history", limit=3, detail="full")
print([h["tool"] for h in same] == [h["tool"] for h in hits], "inputSchema" in same[0])
