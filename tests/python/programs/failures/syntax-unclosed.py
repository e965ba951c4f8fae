# A bracket that is not closed: nothing runs.
# message: any
print("never printed")
values = [1, 2,
print(values)
