# attack: looks whether it was given the worker that died before it, and its memory
# property: S39
# expect: value [1, false]
fresh = bytearray(1 << 22)
return [len(tools.shop.list_customers(page_size=1)["items"]), b"left" in fresh]
