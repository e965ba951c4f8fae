# A text that does not end.
# message: any
name = "Ada
print(name)
