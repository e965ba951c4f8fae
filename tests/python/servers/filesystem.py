"""Files in memory: text, listings, several texts at once."""

import json
from typing import Any

from toolkit import OBJECT, Result, Server, failed, structured, text

LOG = "\n".join(
    f"2026-03-{1 + number // 8:02} {number % 24:02}:{number * 7 % 60:02}:00 {['INFO', 'INFO', 'WARNING', 'INFO', 'ERROR'][number % 5]} "
    f"[{['api', 'worker', 'db'][number % 3]}] {['request GET /items/%d 200 %dms', 'job %d done in %dms', 'retry %d after %dms'][number % 3] % (number, number * 37 % 500)}"
    for number in range(40)
)
FILES = {
    "/data/app.log": LOG + "\n",
    "/data/sales.csv": 'date,region,product,units,price\n2026-01-05,EMEA,widget,10,19.99\n2026-01-06,APAC,gadget,3,249.00\n2026-01-06,EMEA,"gizmo, large",7,5.50\n'
    "2026-02-01,AMER,widget,25,18.75\n2026-02-11,APAC,widget,,19.99\n2026-02-28,EMEA,gadget,2,239.00\n",
    "/data/config.json": json.dumps(
        {
            "debug": False,
            "retries": 3,
            "servers": [{"host": "a.example", "port": 8080}, {"host": "b.example", "port": 8443}],
            "limits": {"rps": 12.5, "burst": None},
        },
        indent=2,
    ),
    "/data/config.ini": "[server]\nhost = a.example\nport = 8080\n\n[features]\ndark_mode = yes\nbeta = off\n",
    "/data/notes.md": "# Notes\n\n- [x] call Ada\n- [ ] review PR #103\n- [ ] pay invoice INV-2026-007\n\n> quoted\n\n## Später\n\nüber café — naïve “quotes”\n",
    "/data/events.jsonl": '{"type": "click", "x": 1}\n{"type": "click", "x": 5}\n\n{"type": "key", "key": "é"}\n{"type": "click", "x": 7}\nnot json\n',
    "/data/feed.xml": '<?xml version="1.0"?>\n<feed><entry id="1"><title>First &amp; best</title><tag>a</tag><tag>b</tag></entry><entry id="2"><title>Second</title></entry></feed>',
    "/data/empty.txt": "",
    "/data/emoji 🎉.txt": "party 🎉\n",
    "/data/logs/jan.txt": "a\nb\nc\n",
    "/data/logs/feb.txt": "d\ne\n",
}


def make() -> Server:
    """The server, with files of its own: what one world writes no other sees."""
    server = Server("filesystem", "Files below /data")
    files = dict(FILES)

    @server.tool("read_file", "Read a text file", path="string")
    def read_file(args: dict[str, Any]) -> Result:
        content = files.get(args["path"])
        return failed(f"ENOENT: no such file: {args['path']}") if content is None else text(content)

    @server.tool("read_multiple_files", "Read several files, one text for each", paths="string[]")
    def read_multiple_files(args: dict[str, Any]) -> Result:
        return text(*(f"{path}:\n{files.get(path, '(missing)')}" for path in args["paths"]))

    @server.tool("list_directory", "List a directory", output=OBJECT, path="string")
    def list_directory(args: dict[str, Any]) -> Result:
        root = args["path"].rstrip("/") + "/"
        names: dict[str, dict[str, Any]] = {}
        for path, content in files.items():
            if path.startswith(root):
                name, _, below = path.removeprefix(root).partition("/")
                names[name] = (
                    {"name": name, "type": "directory"}
                    if below
                    else {"name": name, "type": "file", "size": len(content.encode())}
                )
        return structured({"entries": list(names.values())}) if names else failed(f"ENOTDIR: {args['path']}")

    @server.tool("write_file", "Write a text file", read=False, path="string", content="string")
    def write_file(args: dict[str, Any]) -> Result:
        if not args["path"].startswith("/data/"):
            return failed(f"EACCES: {args['path']} is outside /data")
        files[args["path"]] = args["content"]
        return text(f"wrote {len(args['content'].encode())} bytes to {args['path']}")

    return server
