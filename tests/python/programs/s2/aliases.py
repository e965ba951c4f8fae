# Aliases of odd names.
weird = await mcp_legacy_api.get_weird_name(id=3)
items = await mcp_legacy_api.get_items()
keyword = await mcp_legacy_api.import_(**{"from": "there", "class": "first"})
print(weird["id"], items["count"], keyword["class"])
