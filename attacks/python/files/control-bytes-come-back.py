# control: bytes of deleted, replaced and shortened files are free again, so a full disk above was not a count that only grows
# property: S30
# timeout_ms: 10000
# expect: value "written"
import os

block = b"x" * (1 << 20)
for number in range(300):
    with open("/tmp/again", "wb") as file:
        file.write(block)
    if number % 3 == 0:
        os.unlink("/tmp/again")
    elif number % 3 == 1:
        os.truncate("/tmp/again", 0)
return "written"
