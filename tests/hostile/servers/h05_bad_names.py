"""Names its tools with control characters, paths, quotes, lookalikes, keywords, prototype keys, nothing, a megabyte,
and values that are not strings."""

from typing import Any

from base import Server, tool

NAMES = [
    *("", " ", ".", "..", "../../etc/passwd", "a/b", "a\\b", "a\nb", "a\r\nX: 1", "a\0b", "a\x1b[31mb"),
    *("a\u202eb", "\u0440\u0435ad_file", "read\u200bfile", "\ufeffread", "\U000e0061\U000e0062", "e\u0301cole"),
    *("__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then"),
    *("__class__", "__init__", "self", "class", "delete", "await", "import", "None", "lambda"),
    *("x'); process.exit(1); ('", 'x"; import os; "', "x`${1}`", "*/ alert(1) /*", "'''", "</script>"),
    *("%n%s", "{0.__class__}", "$(id)", "`id`", ";id", "|id", "-rf", "--help", "CON", "NUL"),
    *("a" * 129, "b" * 1_000_000, "\ud800"),
]
NO_TOOLS = [None, "str", 7, [], {}, {"description": "no name"}]


class BadNames(Server):
    """One good tool among all the others."""

    def tools(self) -> list[Any]:
        odd = [tool(name) for name in [*NAMES, 5, None, ["x"], {"a": 1}]]
        return [*odd, *NO_TOOLS, tool("good_tool"), {"name": "no_schema"}]


BadNames().run()
