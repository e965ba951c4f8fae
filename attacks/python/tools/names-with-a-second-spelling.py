# attack: spells a name in another Unicode form, with look-alikes, hidden characters and a NUL, to reach a tool past a check on the name
# property: S41
# tools: ["probe.café"]
# expect: value ["café", "denied", "denied", "denied", "denied", "denied", "denied"]
out = []
for name in ["caf\u00e9", "cafe\u0301", "c\u0430f\u00e9", "caf\u00e9\u200b", "caf\u00e9\0", "\u202ecaf\u00e9", "ｃafé"]:
    try:
        out.append(tools.probe[name]()["reached"])
    except ToolError as error:
        out.append(error.code)
return out
