# attack: returns a list that holds itself
# property: S25
# timeout_ms: 3000
# expect: error exception
cycle = {"a": []}
cycle["a"].append(cycle)
return cycle
