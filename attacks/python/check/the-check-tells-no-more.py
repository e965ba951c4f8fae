# attack: a nearly right name of a tool outside of its patterns, for the right one in what the check says
# property: S43
# tools: ["shop.list_customers"]
# expect: error contract
# without: get_customer
# without: echo
tools.shop.get_custome(id="x")
tools.probe.ech(a=1)
