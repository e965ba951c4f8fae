# attack: a nearly right name of a tool outside of its patterns, to learn the right one from the message of the check
# property: S43
# tools: ["shop.list_customers"]
# expect: error contract
# without: get_customer
# without: echo
tools.shop.get_custome(id="x")
tools.probe.ech(a=1)
