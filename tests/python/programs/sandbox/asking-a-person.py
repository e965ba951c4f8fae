# Nobody sits at the other end: `input` is the value that came with the program.
# message: any
name = input("Your name? ")
print("Hello", name)
