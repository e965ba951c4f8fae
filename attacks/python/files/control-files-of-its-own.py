# control: a program has files of its own in its two folders, so that a file it cannot open is not one that no file could be
# property: S03
# expect: value ["text", 3, ["a.txt"], true]
import os
import pathlib

os.makedirs("/tmp/own")
pathlib.Path("/tmp/own/a.txt").write_text("text")
with open("/workspace/b.bin", "wb") as file:
    file.write(b"\0\1\2")
return [
    pathlib.Path("/tmp/own/a.txt").read_text(),
    os.path.getsize("/workspace/b.bin"),
    os.listdir("/tmp/own"),
    os.path.exists("/workspace/b.bin"),
]
