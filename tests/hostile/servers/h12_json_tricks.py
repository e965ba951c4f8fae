"""Answers with JSON that parsers interpret differently or crash on: depth, repeated keys, numbers beyond every type, comments,
several values on a line, one value on several, lines that are not messages. The name of the tool selects one."""

import json
from typing import Any

from base import Message, Server, scaled, tool, write

DEPTH = scaled(1_000_000)
# Texts in the place of a value.
VALUES = {
    "fine": '{"fine":true}',
    "deep_list": "[" * DEPTH + "]" * DEPTH,
    "deep_object": '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "unfinished": "[" * DEPTH,
    "nan": "NaN",
    "infinity": "[Infinity,-Infinity]",
    "huge_exponent": "1e999999",
    "long_number": "9" * scaled(1_000_000),
    "big_number": "123456789012345678901234567890",
    "comment": '{/*c*/"a":1,}',
    "single_quotes": "{'a':1}",
    "leading_zero": "01",
    "raw_tab": '"\t"',
    "escaped_proto": '{"\\u005f\\u005fproto__":{"polluted":true}}',
}
# Texts in the place of a message.
LINES = {"empty": "{}", "null": "null", "number": "5", "text": '"x"', "list": "[]", "true": "true"}
FORMS = ("same_key_twice", "two_values", "batch", "several_lines", "separator_first", "garbage_first")


class JsonTricks(Server):
    """One tool for each trick."""

    def tools(self) -> list[Any]:
        return [tool(name) for name in (*VALUES, *LINES, *FORMS)]

    def call(self, request: Message) -> None:
        write(line(request["params"]["name"], json.dumps(request["id"])).encode() + b"\n")


def line(name: str, id: str) -> str:
    """The answer of a tool to the request `id`."""
    if value := VALUES.get(name):
        return answer(id, value)
    match name:
        case "same_key_twice":
            second = '"result":{"content":[{"type":"text","text":"SECOND"}]}'
            return f'{{"jsonrpc":"2.0","id":{id},"id":999999,"result":{{"content":[]}},{second}}}'
        case "two_values":
            return answer(id, "1") + answer(id, "2")
        case "batch":
            return f"[{answer(id, '1')},{answer(id, '2')}]"
        case "several_lines":
            return answer(id, "{}").replace(",", ",\n")
        case "separator_first":
            return "\u2028" + answer(id, "{}")
        case "garbage_first":
            return "garbage " + answer(id, "{}")
        case _:
            return LINES[name]


def answer(id: str, value: str) -> str:
    """A result with the raw text of a value."""
    result = f'{{"resultType":"complete","content":[],"structuredContent":{value}}}'
    return f'{{"jsonrpc":"2.0","id":{id},"result":{result}}}'


JsonTricks().run()
