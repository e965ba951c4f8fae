# What servers there are.
listed = await servers()
names = sorted(s["name"] for s in listed)
print(names)
print({s["name"]: s["tools"] for s in listed if s["name"] in ("github", "wiki")})
