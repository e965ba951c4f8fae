# Base64, digests, HMAC and random-free ids.
import base64
import binascii
import hashlib
import hmac
import uuid
import zlib

text = tools.shapes.plain_text()
data = text.encode()
print(base64.b64encode(data).decode(), base64.urlsafe_b64encode(b"\xfb\xff\xfe"), base64.b32encode(b"hi"), base64.b16encode(b"hi"), base64.b85encode(b"hello"))
print(hashlib.sha256(data).hexdigest()[:32], hashlib.md5(data).hexdigest(), hashlib.sha1(b"").hexdigest()[:8], hashlib.blake2b(data, digest_size=8).hexdigest())
print(hashlib.sha3_256(data).hexdigest()[:16], hashlib.sha512(data).hexdigest()[:16], hashlib.new("sha384", data).hexdigest()[:16])
signature = hmac.new(b"secret", data, hashlib.sha256).hexdigest()
print(signature[:16], hmac.compare_digest(signature, signature.upper().lower()))
print(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.org"), uuid.uuid3(uuid.NAMESPACE_DNS, "example.org"), uuid.UUID(int=5).hex, uuid.UUID("12345678123456781234567812345678").version)
print(zlib.crc32(data), zlib.adler32(data), binascii.hexlify(b"\x00\xff"), base64.b64decode("aGk=") + base64.b64decode(b"aGk"[:4] + b"="))
picture = [b for b in tools.shapes.picture.raw()["content"] if b["type"] == "image"][0]
print(base64.b64decode(picture["data"])[:4], picture["mimeType"])
print(len(uuid.uuid4().hex), uuid.uuid4() != uuid.uuid4())
