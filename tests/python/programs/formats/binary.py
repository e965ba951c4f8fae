# struct, int.to_bytes, bit tricks and array.
import array
import struct

header = struct.pack("<4sHIf", b"LMBK", 1, 1024, 0.5)
print(header, struct.calcsize("<4sHIf"), struct.unpack("<4sHIf", header))
print((1024).to_bytes(4, "big"), int.from_bytes(b"\x00\x10", "little"), (-2).to_bytes(2, "big", signed=True), (10).bit_length(), bin(0b1011 ^ 0b0110), (255).bit_count())
values = array.array("d", [r["score"] for r in tools.shapes.rows(count=4)["rows"]])
print(values.tolist(), values.itemsize, array.array("B", b"\x01\x02").tobytes())
print([chunk for chunk, in struct.iter_unpack(">H", b"\x00\x01\x00\x02")], 7 >> 1, 1 << 40, ~5, -7 // 2, -7 % 3, divmod(-7, 2))
