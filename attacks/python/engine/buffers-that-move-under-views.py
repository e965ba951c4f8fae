# attack: resizes, frees and reuses memory under views, arrays and iterators of it
# property: S34
# timeout_ms: 3000
# expect: contained
import array
import io
import struct

kept = []


class Raw(io.RawIOBase):
    def readinto(self, buffer):
        kept.append(buffer)
        return len(buffer)

    def readable(self):
        return True


class Index:
    def __init__(self, act):
        self.act = act

    def __index__(self):
        self.act()
        return 1


reader = io.BufferedReader(Raw(), 1 << 16)
reader.read(1)
del reader
freed = [bytearray(1 << 16) for _ in range(8)]
for view in kept:
    try:
        view[:8] = b"\xff" * 8
        kept.append(bytes(view[:64]))
    except (ValueError, TypeError):
        pass
data = bytearray(b"x" * 1_000)
numbers = array.array("i", range(1_000))
for act in [
    lambda: data.__setitem__(Index(data.clear), 7),
    lambda: data.__delitem__(slice(Index(data.clear), Index(data.clear), None)),
    lambda: numbers.__setitem__(5, Index(lambda: numbers.__delitem__(slice(None)))),
    lambda: memoryview(data).release() or data.extend(b"y" * 10_000),
    lambda: struct.pack_into("i", data, Index(data.clear), 1),
    lambda: data.join(Index(data.clear) for _ in range(3)),
    lambda: io.BytesIO(b"x" * 100).getbuffer()[Index(lambda: None)],
    lambda: memoryview(bytearray(8)).cast("B", (1 << 30, 1 << 30)),
    lambda: struct.unpack_from("1000000000i", b"x", 0),
    lambda: sorted(data, key=lambda _: data.clear()),
]:
    try:
        act()
    except BaseException:
        pass
    data[:] = b"x" * 1_000
return "held"
