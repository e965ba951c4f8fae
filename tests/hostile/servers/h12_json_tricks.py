"""Answers with JSON that parsers disagree on or die of, another case with each call: depth, repeated keys, numbers
beyond every type, comments, several values on a line, one value on several, lines that are no messages."""

import json

from base import Message, Server, scaled, write

DEPTH = scaled(1_000_000)
VALUES = [
    "[" * DEPTH + "]" * DEPTH,
    '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "[" * DEPTH,
    *("NaN", "[Infinity,-Infinity]", "1e999999", "9" * scaled(1_000_000), "123456789012345678901234567890"),
    *('{/*c*/"a":1,}', "{'a':1}", "01", '"\t"', '{"\\u005f\\u005fproto__":{"polluted":true}}'),
]
NO_MESSAGES = ["{}", "null", "5", '"x"', "[]", "true"]


class JsonTricks(Server):
    """The next of the cases with each call."""

    calls = 0

    def call(self, request: Message) -> None:
        lines = cases(json.dumps(request["id"]))
        write(lines[self.calls % len(lines)].encode() + b"\n")
        self.calls += 1


def cases(id: str) -> list[str]:
    """Every answer to the request `id`."""

    def answer(value: str) -> str:
        return (
            f'{{"jsonrpc":"2.0","id":{id},"result":'
            f'{{"resultType":"complete","content":[],"structuredContent":{value}}}}}'
        )

    second = '"result":{"content":[{"type":"text","text":"SECOND"}]}'
    twice = f'{{"jsonrpc":"2.0","id":{id},"id":999999,"result":{{"content":[]}},{second}}}'
    return [
        *(answer(value) for value in VALUES),
        twice,
        answer("1") + answer("2"),
        f"[{answer('1')},{answer('2')}]",
        answer("{}").replace(",", ",\n"),
        "\u2028" + answer("{}"),
        "garbage " + answer("{}"),
        *NO_MESSAGES,
    ]


JsonTricks().run()
