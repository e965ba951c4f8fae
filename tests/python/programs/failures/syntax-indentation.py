# Wrong indentation.
# message: any
if True:
print("x")
