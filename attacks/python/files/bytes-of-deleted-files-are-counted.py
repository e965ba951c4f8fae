# attack: deletes each file while it is open, so that its bytes belong to no name
# property: S30
# timeout_ms: 10000
# expect: value "held"
import os

block = b"x" * (1 << 20)
try:
    for number in range(1024):
        fd = os.open("/tmp/unnamed", os.O_CREAT | os.O_RDWR)
        os.write(fd, block)
        os.unlink("/tmp/unnamed")
except OSError:
    return "held"
return "a gigabyte written"
