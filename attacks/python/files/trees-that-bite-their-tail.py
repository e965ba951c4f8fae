# attack: moves folders into themselves, links in circles, deletes what it walks and nests folders without end
# property: S30
# timeout_ms: 10000
# expect: value "held"
import os
import shutil

os.makedirs("/tmp/a/b/c")
for f in [
    lambda: os.rename("/tmp/a", "/tmp/a/b/c/d"),
    lambda: os.rename("/tmp/a/b", "/tmp/a"),
    lambda: os.rename("/tmp", "/workspace/tmp"),
    lambda: os.rmdir("/tmp"),
    lambda: os.symlink("/tmp/y", "/tmp/x") or os.symlink("/tmp/x", "/tmp/y"),
    lambda: open("/tmp/x").read(),
    lambda: os.symlink("/tmp", "/tmp/self"),
    lambda: open("/tmp/" + "self/" * 10_000 + "x"),
    lambda: os.rename("/tmp/a", "/tmp/" + "n" * 100_000),
    lambda: open("/tmp/" + "/".join(["d"] * 100_000), "w"),
]:
    try:
        f()
    except OSError:
        pass
path = "/tmp/deep"
try:
    for _ in range(20_000):
        os.mkdir(path)
        path += "/d"
except OSError:
    pass
for n in range(500):
    try:
        open(f"/workspace/{n}", "w").close()
    except OSError:
        pass
for entry in os.scandir("/workspace"):
    try:
        os.unlink(entry.path)
        open(f"/workspace/again{entry.name}", "w").close()
    except OSError:
        pass
shutil.rmtree("/tmp/deep", ignore_errors=True)
with open("/tmp/after", "w") as file:
    file.write("x")
return "held"
