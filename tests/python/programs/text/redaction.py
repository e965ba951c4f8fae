# Hides what must not be shown and counts it.
import re

RULES = {
    "email": re.compile(r"[\w.+-]+@[\w.-]+\.\w+"),
    "card": re.compile(r"\b(?:\d{4}[ -]?){3}\d{4}\b"),
    "token": re.compile(r"\b(?:ghp|xoxb|sk)[-_][A-Za-z0-9]{6,}\b"),
    "ip": re.compile(r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
}

def redact(text):
    counts = {}
    for name, pattern in RULES.items():
        text, n = pattern.subn(f"[{name}]", text)
        if n:
            counts[name] = n
    return text, counts

sample = tools.shapes.echo(value="ada@acme.example paid with 4111 1111 1111 1111 from 10.0.0.255, token ghp_abcdef123456; 999.1.1.1 is no address")
redacted, counts = redact(sample["value"])
print(redacted)
counts
