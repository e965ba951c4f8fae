# A value nested a hundred levels deep.
value = "bottom"
for _ in range(100):
    value = [value]
value
