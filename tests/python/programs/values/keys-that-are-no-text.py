# Keys that JSON does not have become text as json.dumps does it.
{1: "int", 2.5: "float", None: "none", True: "bool", "s": "text"}
