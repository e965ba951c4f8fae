# Files below /tmp: open, write, read, append, seek, csv on disk.
import csv
import os
from pathlib import Path

path = Path("/tmp/corpus-temporary.csv")
with open(path, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "name"])
    writer.writerows([c["id"], c["name"]] for c in tools.crm.list_contacts(limit=3)["contacts"])
print(path.read_text(), path.exists(), path.stat().st_size, path.suffix, path.stem)
with path.open("a") as file:
    file.write("99,Zoë\n")
with open(path, "rb") as file:
    file.seek(-6, os.SEEK_END)
    print(file.read(), file.tell())
with open(path, encoding="utf-8") as file:
    print([line.rstrip() for line in file][-1])
path.unlink()
print(path.exists(), os.path.exists("/tmp"))
