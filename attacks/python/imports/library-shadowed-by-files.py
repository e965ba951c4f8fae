# attack: puts its own json, asyncio and traceback before the library's, in a folder and in a zip, to be used by the prelude
# property: S44
# expect: value {"sent": "{\"a\":[1,\"x\"]}", "shadowed": true}
import io
import sys
import zipfile

fake = "def dumps(*a, **k): return '{\"forged\":1}'\ndef loads(*a, **k): return {'text': 'forged'}\nforged = True\n"
names = ["json", "asyncio", "traceback", "linecache", "warnings", "types", "ast", "dataclasses", "decimal", "datetime"]
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    for name in names:
        archive.writestr(f"{name}.py", fake)
with open("/tmp/library.zip", "wb") as file:
    file.write(buffer.getvalue())
for name in names:
    with open(f"/tmp/{name}.py", "w") as file:
        file.write(fake)
sys.path[:0] = ["/tmp", "/tmp/library.zip"]
for name in names:
    sys.modules.pop(name, None)
    sys.modules.pop(f"{name}.encoder", None)
import json

return {"sent": tools.probe.echo({"a": [1, "x"]}).text, "shadowed": json.forged}
