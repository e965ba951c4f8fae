# Errors of files are the usual ones.
import os
from pathlib import Path

for attempt in (lambda: open("/tmp/corpus-no-such-file"), lambda: Path("/tmp").read_text(), lambda: open("/tmp/corpus-x", "q"), lambda: os.listdir("/tmp/corpus-nope"), lambda: os.remove("/tmp/corpus-nope")):
    try:
        attempt()
    except (OSError, ValueError) as error:
        print(type(error).__name__)
with open("/tmp/corpus-exclusive", "x") as file:
    print(file.write("once"), file.closed)
try:
    open("/tmp/corpus-exclusive", "x")
except FileExistsError as error:
    print(error.filename)
print(file.closed, os.path.getsize("/tmp/corpus-exclusive"), os.path.splitext("a/b.tar.gz"), os.path.join("a", "b"), os.path.basename("/x/y.z"))
