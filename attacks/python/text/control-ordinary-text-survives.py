# control: ordinary text of many scripts comes back as it was written
# property: S25
# stdout: Grüße, 世界 🌍
# expect: value ["Grüße, 世界 🌍", "a\tb\nc", "\u0000\u001b", {"ключ": "é"}]
print("Grüße, 世界 🌍")
return ["Grüße, 世界 🌍", "a\tb\nc", "\0\x1b", {"ключ": "é"}]
