# JavaScript in a Python program.
# message: any
x = 1
const y = 2;
print(x + y)
