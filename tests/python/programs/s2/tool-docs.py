# Documentation of tools, all and one, with and without schema.
docs = await runtime.query_tool_docs("wiki")
print([d["tool"] for d in docs], sorted(docs[0]))
one = await runtime.query_tool_docs("legacy-api", tool="get_weird_name", detail="full")
print(one["tool"], one["toolAlias"], one["serverAlias"], one["inputSchema"]["type"])
print([d["toolAlias"] for d in runtime.query_tool_docs_sync("legacy-api")])
