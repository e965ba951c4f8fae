# control: what the pattern allows does work, so a refusal below is the pattern's and not a broken server's
# property: S40
# tools: ["shop.list_customers"]
# expect: value [1, 1]
return [len(tools.shop.list_customers(page_size=1)["items"]), len(call_tool("mcp__shop__list_customers", {"page_size": 1})["items"])]
