# attack: reads, writes, duplicates and maps every descriptor it was not given
# property: S10
# expect: value []
import os
import stat

reached = []
for fd in range(1024):
    try:
        kind = os.fstat(fd)
    except OSError:
        continue
    if fd > 2 and not stat.S_ISDIR(kind.st_mode):
        reached.append(f"{fd} is {oct(kind.st_mode)}")
    for how, f in [("read", lambda: os.read(fd, 10)), ("pread", lambda: os.pread(fd, 10, 0)), ("write", lambda: fd > 2 and os.write(fd, b"x"))]:
        try:
            if f():
                reached.append(f"{how} {fd}")
        except (OSError, AttributeError):
            pass
    for how, f in [("dup", lambda: os.dup(fd)), ("sendfile", lambda: os.sendfile(1, fd, 0, 10)), ("isatty", lambda: os.isatty(fd) or 1 / 0)]:
        try:
            got = f()
            if how != "dup" or os.read(got, 10):
                reached.append(f"{how} {fd}")
        except (OSError, AttributeError, ZeroDivisionError):
            pass
return reached
