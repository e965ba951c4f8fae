# A file of the machine cannot be read.
# message: any
with open("/etc/passwd") as file:
    print("read", len(file.read()) > 0)
