# A hexdump, checksums and a small binary format.
import io
import struct
import zlib

def hexdump(data):
    for at in range(0, len(data), 16):
        chunk = data[at:at + 16]
        yield f"{at:04x}  {chunk.hex(' '):<47}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in chunk)}"

records = [(c["id"], c["name"]) for c in tools.crm.list_contacts(limit=3)["contacts"]]
out = io.BytesIO()
for cid, name in records:
    encoded = name.encode()
    out.write(struct.pack(">IB", cid, len(encoded)) + encoded)
data = out.getvalue() + struct.pack(">I", zlib.crc32(out.getvalue()))
print("\n".join(hexdump(data)))
body, (checksum,) = data[:-4], struct.unpack(">I", data[-4:])
assert zlib.crc32(body) == checksum
stream, read = io.BytesIO(body), []
while header := stream.read(5):
    cid, length = struct.unpack(">IB", header)
    read.append((cid, stream.read(length).decode()))
print(read == records, len(data))
