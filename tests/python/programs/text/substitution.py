# Replacement functions, back references, look-around, flags and splitting.
import re

def camel(name):
    return re.sub(r"[-_\s.]+(\w)", lambda m: m[1].upper(), name)

def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s.]+", "_", name).lower()

names = ["get-weird.name", "listIssues", "HTTPServer", "already_snake", "two words"]
print([camel(n) for n in names])
print([snake(n) for n in names])
print(re.sub(r"(\d{3})(?=(\d{3})+$)", r"\1", "1234567"), re.sub(r"\B(?=(\d{3})+(?!\d))", ",", "1234567"))
print(re.split(r"\s*[,;]\s*", "a, b ;c,d"), re.split(r"(-)", "2026-03-01", maxsplit=1))
print(re.sub(r"(?i)secret\s*=\s*\S+", "secret=***", "x=1 Secret = abc SECRET=q"))
print(re.fullmatch(r"(?x) (\d+) [ ] ([a-z]+)  # number and unit", "15 kg").groups())
print(re.subn(r"(?P<w>\w+) (?P=w)", r"\g<w>", "the the cat sat sat"), re.escape("a.b*c"))
