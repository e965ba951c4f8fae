# attack: writes files of a megabyte until it is stopped
# property: S30
# timeout_ms: 10000
# expect: value "held"
block = b"x" * (1 << 20)
try:
    for number in range(1024):
        with open(f"/tmp/block{number}", "wb", buffering=0) as file:
            file.write(block)
except OSError:
    return "held"
return "a gigabyte written"
