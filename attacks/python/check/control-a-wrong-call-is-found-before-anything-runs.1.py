# control: a program with a wrong call is turned down before its first line, so what evades the check below is known to evade it
# property: S44
# expect: error contract
tools.probe.note(mark="python before a wrong call")
tools.shop.list_customers(page_siz=1)
