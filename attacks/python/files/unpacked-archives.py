# attack: unpacks archives whose members leave the folder, are links, devices and bombs
# property: S02
# timeout_ms: 5000
# expect: value "held"
import io
import os
import shutil
import tarfile
import zipfile

buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w") as archive:
    for name, kind, target in [
        ("../../etc/passwd", tarfile.REGTYPE, ""), ("/etc/shadow", tarfile.REGTYPE, ""), ("link", tarfile.SYMTYPE, "/etc/passwd"),
        ("hard", tarfile.LNKTYPE, "../../etc/passwd"), ("device", tarfile.CHRTYPE, ""), ("pipe", tarfile.FIFOTYPE, ""),
    ]:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        archive.addfile(member)
buffer.seek(0)
with tarfile.open(fileobj=buffer) as archive:
    for member in archive.getmembers():
        for filter in ["fully_trusted", "tar", "data"]:
            try:
                archive.extract(member, "/tmp/out", filter=filter)
            except (OSError, tarfile.TarError, AttributeError, KeyError):
                pass
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("../../../etc/zip", "x")
    archive.writestr("zeros", b"\0" * (32 << 20))
try:
    zipfile.ZipFile(buffer).extractall("/tmp/out")
    with open("/tmp/packed.zip", "wb") as file:
        file.write(buffer.getvalue())
    shutil.unpack_archive("/tmp/packed.zip", "/workspace/out")
except OSError:
    pass
return "left" if any(os.path.exists(path) for path in ["/etc/zip", "/etc/passwd", "/etc/shadow"]) else "held"
