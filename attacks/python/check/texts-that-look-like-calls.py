# attack: texts, comments and code that never runs, made to look like wrong calls
# property: S44
# expect: value "held"
text = "tools.shop.none_such(wrong=1)"
doc = """
tools.nothing.at_all()
"""
# tools.shop.none_such()
f"{text!r:>{len(doc)}} tools.shop.none_such()"
return "held"
