# attack: halves of characters in values, keys, arguments, printed text, errors and stores, where UTF-8 has no form for them
# property: S25
# stdout: a
# expect: value [true, true, 3]
import json

print("a\ud800b")
out = []
for attempt in [lambda: tools.probe.echo({"t": "\ud800", "\udfff": 1}).text, lambda: store.set("python surrogate", "\udfff") or store.get("python surrogate")]:
    try:
        got = attempt()
        out.append(isinstance(got, str) and not any(0xD800 <= ord(c) < 0xE000 for c in got))
    except (ToolError, ValueError):
        out.append(True)
return [*out, len("\ud83d" + "\ude00\ud83d")]
