# Files by relative names, in the directory a program starts in.
import json
import os
from pathlib import Path

deals = tools.crm.list_deals(stage="lead")["deals"]
with open("deals.json", "w") as file:
    json.dump(deals, file)
Path("out").mkdir()
Path("out/ids.txt").write_text("\n".join(d["id"] for d in deals))
print(sorted(os.listdir(".")), os.listdir("out"), Path("out/ids.txt").resolve().is_absolute())
print(len(json.load(open("deals.json"))), Path.cwd() == Path(".").resolve(), os.path.abspath("x").endswith("/x"))
os.chdir("out")
print(open("ids.txt").read().split(), [p.name for p in Path("..").glob("*.json")])
