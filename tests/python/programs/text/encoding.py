# Encodings and error handlers.
text = "naïve café – 日本 🎉"
print(text.encode("utf-8").hex(" ", 4))
print(text.encode("ascii", "ignore"), text.encode("ascii", "replace"), text.encode("ascii", "xmlcharrefreplace"))
print(text.encode("latin-1", "backslashreplace"), "é".encode("utf-16-le"), "é".encode("cp1252"))
print(b"caf\xe9".decode("utf-8", "replace"), b"caf\xe9".decode("latin-1"), "\udce9".encode("utf-8", "surrogateescape"))
try:
    b"\xff\xfe\xfd".decode()
except UnicodeDecodeError as e:
    print(e.reason, e.start)
print(bytes.fromhex("48 69").decode(), bytearray(b"abc").upper(), memoryview(b"12345")[1:3].tobytes())
