# None where a list was expected.
numbers = [1, 2, 3]
numbers = numbers.sort()
for n in numbers:
    print(n)
