# Pulls numbers, addresses, links and ids out of text.
import re

text = "\n".join(m["text"] for m in tools.slack.get_channel_history(channel="#incidents")["messages"])
print(re.findall(r"\bINC-\d+\b", text))
print(sorted(set(re.findall(r"<@(\w+)>", text))))
print(re.findall(r"https?://[^\s<>\"]+", text))
print([float(n) for n in re.findall(r"\d+\.\d+(?=%)", text)], re.findall(r"v(\d+)\.(\d+)\.(\d+)", text))
emails = " ".join(c["email"] for c in tools.crm.list_contacts(limit=3)["contacts"]) + " bad@ @bad x@y.z,ok+tag@sub.example.org"
print(re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", emails))
