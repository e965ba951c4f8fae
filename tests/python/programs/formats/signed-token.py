# A JWT made and checked by hand.
import base64
import hashlib
import hmac
import json

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

def sign(payload, key):
    head = b64(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = b64(json.dumps(payload, separators=(",", ":"), sort_keys=True).encode())
    return f"{head}.{body}." + b64(hmac.digest(key, f"{head}.{body}".encode(), "sha256"))

def check(token, key):
    head, body, signature = token.split(".")
    if not hmac.compare_digest(unb64(signature), hmac.digest(key, f"{head}.{body}".encode(), "sha256")):
        raise PermissionError("bad signature")
    return json.loads(unb64(body))

contact = tools.crm.get_contact(id=14)
token = sign({"sub": contact["id"], "name": contact["name"]}, b"k")
print(token, check(token, b"k"))
try:
    check(token, b"other")
except PermissionError as e:
    print(e)
