# attack: writes and reads at places and in sizes that no file has
# property: S30
# timeout_ms: 10000
# expect: value "held"
import os

fd = os.open("/tmp/sparse", os.O_CREAT | os.O_RDWR)
tries = [
    lambda: os.lseek(fd, 1 << 40, 0) and os.write(fd, b"x"),
    lambda: os.lseek(fd, (1 << 63) - 1, 0) and os.write(fd, b"xx"),
    lambda: os.pwrite(fd, b"x", (1 << 63) - 1),
    lambda: os.pwrite(fd, b"x", 1 << 36),
    lambda: os.ftruncate(fd, 1 << 50),
    lambda: os.ftruncate(fd, (1 << 63) - 1),
    lambda: os.truncate("/tmp/sparse", 1 << 40),
    lambda: os.posix_fallocate(fd, 0, 1 << 45),
    lambda: os.posix_fallocate(fd, (1 << 63) - 1, 10),
]
grown = []
for attempt in tries:
    try:
        attempt()
        if os.fstat(fd).st_size > 1 << 30:
            grown.append(os.fstat(fd).st_size)
    except (OSError, OverflowError, AttributeError, MemoryError):
        pass
for read in [lambda: os.read(fd, 1 << 30), lambda: os.pread(fd, 10, (1 << 63) - 1), lambda: os.lseek(fd, -(1 << 62), 1), lambda: os.preadv(fd, [bytearray(1)] * 2_000, 1 << 62)]:
    try:
        read()
    except (OSError, OverflowError, AttributeError, MemoryError, ValueError):
        pass
for when in [(-1, -1), (1 << 62, 1 << 62), (float("1e300"), 0)]:
    try:
        os.utime("/tmp/sparse", when)
        os.stat("/tmp/sparse")
    except (OSError, OverflowError, AttributeError, ValueError):
        pass
return grown or "held"
