# No shell either.
# message: any
import os

print(os.popen("echo from a shell").read().strip())
