"""The same requests over standard input and over HTTP, in both eras, give the same answers."""

import json
import re
from typing import Any

import pytest

from gateway import ERAS
from listening import WebPeer, listening
from peer import Peer
from world import World

FILES = "return (await tools.filesystem.list_directory({ path: input })).content;"
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "search", "arguments": {"queries": ["read a file", "no such thing at all"]}}),
    ("tools/call", {"name": "search", "arguments": {"queries": "not a list"}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "return { a: [1, 'ü\\u2028', null], b: input };", "input": 7}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "console.log('x'); throw new Error('boom');"}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "return {;"}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "while (true) {}", "timeout_ms": 50}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "print(sum(range(10)))", "language": "python"}}),
    ("tools/call", {"name": "execute", "arguments": {}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "return await tools.missing.nothing({});"}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("tools/call", {"name": "execute", "arguments": {"code": "return 'x'.repeat(400_000);"}}),
    ("no/such/method", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
]


def comparable(answer: dict[str, Any]) -> str:
    """An answer without what is another one every time.

    Ids of executions do not all have the same number of tokens, and a text that is cut fills what they leave of the
    budget: where it is cut differs by a few characters.
    """
    text = json.dumps({key: answer.get(key) for key in ("result", "error")}, sort_keys=True)
    text = re.sub(r"x{1000,}", "xx", re.sub(r"\d+ characters left out", "N characters left out", text))
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", re.sub(r"ex_[0-9a-f]{32}", "ex_ID", text))


@pytest.mark.parametrize("era", sorted(ERAS))
def test_both_faces_answer_alike(world: World, era: str) -> None:
    config = world.config(world.only("filesystem"))
    listing = ("tools/call", {"name": "execute", "arguments": {"code": FILES, "input": str(world.files)}})
    (world.files / "one.txt").write_text("1")
    requests = [*REQUESTS, listing]

    with Peer(world, era, "--config", str(config), "--no-discover") as peer:
        peer.handshake()
        over_pipes = [comparable(peer.wait(peer.send(method, params))) for method, params in requests]
        assert peer.close() == 0
    with listening(world, config) as endpoint:
        web = WebPeer(endpoint, era)
        web.handshake()
        over_http = [comparable(web.answer(method, params)) for method, params in requests]

    for request, pipes, http in zip(requests, over_pipes, over_http, strict=True):
        assert pipes == http, request
    assert "one.txt" in over_http[-1]
