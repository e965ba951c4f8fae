# attack: unpacks kilobytes that become gigabytes
# property: S23
# timeout_ms: 5000
# expect: error memory_limit|timeout
import zlib

packer = zlib.compressobj(9)
zeros = b"\0" * (1 << 20)
first, other = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
zlib.decompressobj().decompress(first + other * 4_000)
