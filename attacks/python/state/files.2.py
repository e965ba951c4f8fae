# attack: looks for files, folders and descriptors that the program before left
# property: S03
# expect: value []
import os

found = []
for folder in ["/tmp", "/workspace"]:
    for _, folders, files in os.walk(folder):
        found += folders + files
for fd in range(3, 64):
    try:
        found += [fd] if os.read(fd, 4) else []
    except OSError:
        pass
if "left" in os.getcwd():
    found.append(os.getcwd())
return found
