"""Questions of programs to the model of the PyPI client: in both eras, over both transports."""

import json
from typing import Any

import anyio
import pytest
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from talking import EVERY_WAY, conversation
from world import World

Way = tuple[str, str]
every_way = pytest.mark.parametrize("way", EVERY_WAY, ids="-".join)

PROGRAMS = {
    "typescript": "return [await llm.ask('hi', { systemPrompt: 'Be terse', maxTokens: 7 }), budget.llm.rounds]",
    "python": "return [await llm.ask('hi', 'Be terse', 7), budget.llm.rounds]",
}


class Model:
    """The model of a client: answers with the last message in capitals."""

    def __init__(self) -> None:
        self.asked: list[CreateMessageRequestParams] = []

    async def __call__(self, _: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        self.asked.append(params)
        text = params.messages[-1].content.text.upper()
        content = TextContent(type="text", text=text)
        return CreateMessageResult(role="assistant", content=content, model="theirs", stop_reason="endTurn")


@every_way
def test_the_client_answers_a_program_and_a_replay_asks_nobody(world: World, way: Way) -> None:
    model = Model()
    ids: list[str] = []

    async def play() -> None:
        async with conversation(world, way, world.config({}), model=model) as talk:
            for language, code in PROGRAMS.items():
                envelope = json.loads(await talk.call("execute", {"code": code, "language": language}))
                assert envelope["value"] == ["HI", 9], envelope
                assert envelope["effects"] == {"reads": 1, "writes": 0}, envelope
                ids.append(envelope["execution_id"])

    anyio.run(play)
    [asked, _] = model.asked
    # The user sees where the question comes from.
    assert asked.system_prompt == "[limbeck] Be terse"
    assert (asked.max_tokens, asked.include_context) == (7, "none")
    for id in ids:
        replayed = world.limbeck_json("replay", id)
        assert replayed["differences"] == [], replayed
    assert len(model.asked) == 2


@every_way
def test_a_client_without_a_model_is_not_asked(world: World, way: Way) -> None:
    async def play() -> None:
        async with conversation(world, way, world.config({})) as talk:
            envelope = json.loads(await talk.call("execute", {"code": PROGRAMS["typescript"]}))
            assert "this client cannot sample" in envelope["error"]["message"], envelope

    anyio.run(play)
