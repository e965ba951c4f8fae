# `hashlib.pbkdf2_hmac`, which CPython takes from OpenSSL.
import hashlib

print(hashlib.pbkdf2_hmac("sha256", b"p", b"salt", 1000).hex()[:16])
