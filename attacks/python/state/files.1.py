# attack: leaves files, folders, open descriptors and a changed working directory
# property: S03
# expect: value "left"
import os
import tempfile

for path in ["/tmp/left", "/workspace/left", "/tmp/sitecustomize.py", "/workspace/user_tools.py"]:
    with open(path, "w") as file:
        file.write("left = 1\n")
os.makedirs("/tmp/left.d/deep")
kept = [os.open("/tmp/left", os.O_RDONLY) for _ in range(10)]
tempfile.NamedTemporaryFile(delete=False).write(b"left")
try:
    os.chdir("/tmp/left.d")
except OSError:
    pass
return "left"
