# Slugs, initials, truncation and pluralisation.
import re
import unicodedata

def slug(text):
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")

def plural(n, word):
    return f"{n} {word}" if n == 1 else f"{n} {word[:-1] + 'ies' if word.endswith('y') else word + 's'}"

for contact in tools.crm.list_contacts(limit=6)["contacts"]:
    print(slug(contact["name"]), "".join(p[0] for p in contact["name"].split()), contact["name"][:6] + "…")
print(plural(1, "reply"), plural(3, "reply"), plural(0, "issue"), slug("  C++ & Rust!  "))
