# attack: input with names of what every dict has
# property: S48
# input: {"__class__": "forged", "keys": 1, "get": 2, "__init__": null, "items": [[]]}
# expect: value [true, "forged", 5, true]
return [isinstance(input, dict), input["__class__"], len(input), callable(dict.keys)]
