# control: finds what the program before put into the store
# property: S12
# expect: value {"by": "first"}
return store.get("python kept")
