# Division by zero inside a comprehension.
# changed: 3.14
values = [4, 2, 0]
print([10 // v for v in values])
