# A last expression that is None gives no value.
x = 5
print(x * 2)
