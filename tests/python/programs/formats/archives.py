# Zip, gzip and tar in memory.
import gzip
import io
import tarfile
import zipfile

names = ["jan.txt", "feb.txt"]
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    for name in names:
        archive.writestr(name, tools.filesystem.read_file(path=f"/data/logs/{name}"))
with zipfile.ZipFile(io.BytesIO(buffer.getvalue())) as archive:
    print(archive.namelist(), archive.read("jan.txt"), archive.testzip(), archive.getinfo("feb.txt").file_size)
packed = gzip.compress(b"x" * 10_000, mtime=0)
print(len(packed) < 100, gzip.decompress(packed)[:3], len(gzip.decompress(packed)))
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w:gz") as tar:
    info = tarfile.TarInfo("notes.md")
    content = tools.filesystem.read_file(path="/data/notes.md").encode()
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
out.seek(0)
with tarfile.open(fileobj=out) as tar:
    print(tar.getnames(), tar.extractfile("notes.md").readline())
try:
    zipfile.ZipFile(io.BytesIO(b"no zip"))
except zipfile.BadZipFile as e:
    print(e)
