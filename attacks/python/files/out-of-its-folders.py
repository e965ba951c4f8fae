# attack: leaves its folders by dots, links, descriptors of folders, other roots and odd separators
# property: S02
# input: {"file": "{{canary_file}}"}
# expect: value []
import os

reached = []
target = input["file"]


def attempt(how, path, **keywords):
    try:
        fd = os.open(path, os.O_RDONLY, **keywords)
        reached.append(f"{how}: {os.read(fd, 60)!r}")
    except (OSError, ValueError, NotImplementedError, TypeError):
        pass


up = "../" * 40
for base in ["/tmp", "/workspace", "/tmp/.", "/tmp//", "/tmp/new"]:
    os.makedirs("/tmp/new", exist_ok=True)
    for place in [target, "/etc/passwd", "/proc/self/environ"]:
        attempt("dots", f"{base}/{up}{place[1:]}")
        attempt("dots before", f"{base}/..{place}")
        attempt("nul", f"{base}/../{place}\0")
        attempt("nul inside", f"/tmp\0/..{place}")
        attempt("doubled", f"{base}//..//..{place}")
        attempt("backslash", f"{base}\\..\\..{place}")
        attempt("full width", f"{base}/\uff0e\uff0e{place}")
        attempt("percent", f"{base}/%2e%2e{place}")
        attempt("bytes", f"{base}/../{up}".encode() + place[1:].encode())
        attempt("relative", up + place[1:])
        attempt("empty", place.lstrip("/"))
for n, place in enumerate([target, "/etc/passwd", up + "etc/passwd", "/", "..", "../..", "/proc/self/root"]):
    for link in [os.symlink, os.link, os.rename]:
        try:
            link(place, f"/tmp/link{n}")
            attempt(link.__name__, f"/tmp/link{n}")
            attempt(link.__name__ + " of a folder", f"/tmp/link{n}/etc/passwd")
        except (OSError, AttributeError, NotImplementedError):
            pass
for folder in ["/tmp", "/workspace"]:
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        continue
    for place in ["..", "../..", "../etc/passwd", up + target[1:], target, "/etc/passwd", ".", ""]:
        attempt("folder", place, dir_fd=fd)
for fd in range(16):
    attempt("descriptor", "../etc/passwd", dir_fd=fd)
    attempt("descriptor and root", target, dir_fd=fd)
for change in ["chroot", "chdir", "fchdir"]:
    try:
        getattr(os, change)("/")
        attempt(change, "etc/passwd")
    except (OSError, AttributeError, TypeError):
        pass
return reached
