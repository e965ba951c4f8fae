# Environment variables, arguments and platform questions have answers.
import os
import platform
import sys

print(os.environ.get("NO_SUCH_VARIABLE", "unset"), os.getenv("API_KEY"), len(sys.argv) >= 0)
print(sys.version_info >= (3, 11), platform.python_implementation(), sys.byteorder, os.sep, os.linesep == "\n")
print(type(os.getcwd()).__name__, sys.maxsize > 2**30, sys.getsizeof([]) > 0)
