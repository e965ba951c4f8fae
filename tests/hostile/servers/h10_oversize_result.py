"""Answers a call with a huge line. Argument: `line` (256 MiB of text), `blob` (128 MiB of base64), `many` (100,000
blocks), `keys` (two million keys), `endless` (a line that does not end)."""

import json
import sys

from base import Message, Server, scaled, write

MODE = sys.argv[1]
MIB = 1 << 20


class OversizeResult(Server):
    """Answers too much."""

    def call(self, request: Message) -> None:
        head = f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{{"resultType":"complete",'
        match MODE:
            case "line":
                pour(f'{head}"content":[{{"type":"text","text":"', scaled(256), '"}]}}\n')
            case "blob":
                image = '"content":[{"type":"image","mimeType":"image/png","data":"'
                pour(head + image, scaled(128), '"}]}}\n')
            case "endless":
                pour(f'{head}"content":[{{"type":"text","text":"', scaled(1024), "")
            case "many":
                blocks = ",".join(['{"type":"text","text":"i"}'] * scaled(100_000))
                write(f'{head}"content":[{blocks}]}}}}\n'.encode())
            case "keys":
                keys = ",".join(f'"k{number}":{number}' for number in range(scaled(2_000_000)))
                write(f'{head}"content":[],"structuredContent":{{{keys}}}}}}}\n'.encode())


def pour(head: str, mebibytes: int, tail: str) -> None:
    """Writes a text of so many MiB without holding it."""
    write(head.encode())
    for _ in range(mebibytes):
        write(b"A" * MIB)
    write(tail.encode())


OversizeResult().run()
