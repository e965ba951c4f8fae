# Temporary directories, globs, renames and parts of paths.
import shutil
import tempfile
from pathlib import Path, PurePosixPath

with tempfile.TemporaryDirectory() as directory:
    root = Path(directory)
    (root / "a" / "b").mkdir(parents=True)
    for name in ("jan.txt", "feb.txt"):
        (root / "a" / name).write_text(tools.filesystem.read_file(path=f"/data/logs/{name}"))
    (root / "a" / "b" / "data.bin").write_bytes(bytes(range(5)))
    print(sorted(p.relative_to(root).as_posix() for p in root.rglob("*")))
    (root / "a" / "jan.txt").rename(root / "january.txt")
    shutil.copy(root / "january.txt", root / "copy.txt")
    print(sorted(p.name for p in root.iterdir()), [p.name for p in (root / "a").glob("*.txt")], (root / "copy.txt").read_text().split())
    shutil.rmtree(root / "a")
    print((root / "a").exists())
print(root.exists(), PurePosixPath("/data/../etc/./x.tar.gz").suffixes, Path("a") / "/b", Path("/x/y").parent.name)
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("hello"); file.seek(0)
    print(file.read(), file.name.endswith(".txt"))
