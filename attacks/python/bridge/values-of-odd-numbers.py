# attack: returns numbers that JSON has no form for, inside of a list and as keys
# property: S25
# expect: contained
# without: [NaN
# without: ,NaN
# without: :NaN
# without: [Infinity
# without: ,Infinity
# without: :Infinity
return [float("nan"), float("inf"), {float("-inf"): 1}, 10**400, -0.0]
