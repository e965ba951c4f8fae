# control: what a program puts into the store is there for the next, so that a state that passes on would be seen
# property: S12
# expect: value "left"
store.set("python kept", {"by": "first"})
return "left"
