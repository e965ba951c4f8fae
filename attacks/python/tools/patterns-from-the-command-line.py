# attack: calls outside of the patterns given to `limbeck run`
# property: S40
# via: run
# tools: ["shop.list_*"]
# expect: value [1, "denied", "denied"]
out = [len(tools.shop.list_customers(page_size=1)["items"])]
for server, tool in [("shop", "get_customer"), ("probe", "echo")]:
    try:
        tools[server][tool]({"id": "cus_0001"})
        out.append("sent")
    except ToolError as error:
        out.append(error.code)
return out
