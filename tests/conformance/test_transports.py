"""The same requests over standard input and over HTTP, in both eras, get the same answers."""

from pathlib import Path

import pytest

import limbeck
import suite
import wire
from wire import Message

REQUESTS: list[tuple[str, Message]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "test_simple_text", "arguments": {}}),
    ("tools/call", {"name": "test_multiple_content_types", "arguments": {}}),
    ("tools/call", {"name": "test_error_handling", "arguments": {}}),
    ("tools/call", {"name": "test_custom_header", "arguments": {}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("tools/call", {"name": "search", "arguments": {"queries": ["image"]}}),
    ("tools/call", {"name": "test_elicitation", "arguments": {"message": "Who?"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "test://static-text"}),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("resources/read", {"uri": "test://nothing"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    ("prompts/get", {"name": "no_such_prompt"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": "par"}},
    ),
]


def answers(client: wire.Client, era: str) -> list[Message]:
    """The answers to all requests, without what differs each time."""
    found = []
    for method, params in REQUESTS:
        answer = client.ask(method, wire.with_meta(era, params))
        answer.pop("id")
        # Sealed with its time.
        answer.get("result", {}).pop("requestState", None)
        found.append(answer)
    return found


@pytest.mark.parametrize("era", [wire.LEGACY, wire.MODERN])
def test_both_transports_give_the_same_answers(era: str, tmp_path: Path) -> None:
    entry = {"command": suite.built("conformance-fixture"), "expose": "both"}
    with wire.stdio(era, *limbeck.serve(tmp_path, entry)) as client:
        over_stdio = answers(client, era)
    with limbeck.serving(tmp_path, entry) as address:
        over_http = answers(wire.http(era, address), era)

    for (method, params), left, right in zip(REQUESTS, over_stdio, over_http, strict=True):
        assert left == right, f"{method} {params}"
    texts = [answer["result"]["content"][0]["text"] for answer in over_stdio[1:2]]
    assert texts == ["This is a simple text response for testing."]
    assert sum("error" in answer for answer in over_stdio) == 3
