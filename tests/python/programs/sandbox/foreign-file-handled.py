# A program may handle that as any other error of a file.
from pathlib import Path

try:
    Path("/etc/passwd").read_text()
    print("readable")
except OSError as error:
    print("not readable:", type(error).__name__)
