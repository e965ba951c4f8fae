# Values of every JSON type inside one value.
return [None, True, False, 0, -1, 2**60, 1.5, -0.0, 1e300, "", "text ☕", [], {}, [[[]]], {"a": {"b": None}}, (1, 2)]
