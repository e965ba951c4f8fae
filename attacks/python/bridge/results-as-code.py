# attack: results that look like code, format fields, markup of the prelude and escapes of a terminal
# property: S48
# expect: value []
import json

strange = []
for text in ["{0.__class__.__mro__}", "%(x)s %n", "__import__('os')", "\x1b]0;x\x07", "</value>", "'''\nraise SystemExit\n'''", "!!python/object:os.system", "cos\nsystem\n(S'id'\ntR."]:
    for result in [{"content": [{"type": "text", "text": text}]}, {"content": [], "structuredContent": {"t": text}}]:
        got = tools.probe.say({"result": json.dumps(result)})
        if got != text and got != {"t": text}:
            strange.append([text, repr(got)])
        try:
            tools.probe.fail({"message": text})
        except ToolError as error:
            if text.split("\n")[0].strip("\x1b\x07") not in error.message.replace("\\n", "\n") and "\x1b" not in text:
                strange.append([text, error.message])
return strange
