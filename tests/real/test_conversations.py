"""What passes between a client and a server while a call is in flight, and when a server changes: in both eras, over
both transports.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.types import ElicitRequestFormParams, ElicitResult

from talking import EVERY_WAY, Conversation, Person, conversation, talking_server
from world import PATIENCE_S, World

Way = tuple[str, str]
every_way = pytest.mark.parametrize("way", EVERY_WAY, ids="-".join)
RESOURCE = "note://today"
SMALL = {"ask", "work", "grow", "touch"}

ASK = "return JSON.parse(await tools.talking.ask({}));"
# Longer than clients wait without a keep-alive.
LONG = "await new Promise((done) => setTimeout(done, 10_500)); return await tools.talking.work({});"


def config(world: World, **more: Any) -> Path:
    """The talking server alone."""
    return world.config({"talking": talking_server(world, **more)})


async def until_listed(talk: Conversation, names: set[str]) -> None:
    """Waits until tools are listed beside our own two."""
    with anyio.fail_after(PATIENCE_S):
        while set(await talk.names()) != {"search", "execute", *names}:
            await anyio.sleep(0.05)


@every_way
def test_auto_lists_a_small_server_until_it_grows_and_a_large_one_never(world: World, way: Way) -> None:
    servers = {"talking": talking_server(world, expose="auto"), **world.only("everything")}
    servers["everything"]["expose"] = "auto"

    async def play() -> None:
        async with conversation(world, way, world.config(servers)) as talk:
            await until_listed(talk, SMALL)
            assert await talk.call("touch") == ""
            if way[0] == "legacy":
                await talk.call("grow")
                await talk.receives("notifications/tools/list_changed")
            else:
                async with talk.client.listen(tools_list_changed=True) as changes:
                    await talk.call("grow")
                    with anyio.fail_after(PATIENCE_S):
                        await anext(aiter(changes))
            await until_listed(talk, set())
            found = await talk.call("search", {"queries": ["more_5", "echo"]})
            assert "tools.talking.more_5(" in found and "tools.everything.echo(" in found

    anyio.run(play)


@every_way
def test_a_long_program_shows_that_it_runs_and_which_tool_works(world: World, way: Way) -> None:
    progress_seen: list[tuple[float, str | None]] = []

    async def receive(progress: float, total: float | None, message: str | None) -> None:
        progress_seen.append((progress, message))

    async def play() -> None:
        async with conversation(world, way, config(world)) as talk:
            answer = await talk.call("execute", {"code": LONG}, progress_callback=receive)
            assert json.loads(answer)["value"] == "worked"

    anyio.run(play)
    messages = [message for _, message in progress_seen]
    assert messages[0] == "running for 10 s"
    assert "talking.work" in messages and "talking.work: step 2" in messages, messages
    numbers = [number for number, _ in progress_seen]
    assert numbers == sorted(set(numbers)), "progress only grows"


@every_way
def test_a_program_passes_a_question_on_and_waits_for_an_answer_that_fits(world: World, way: Way) -> None:
    wrong = {"action": "accept", "content": {"age": "old"}}
    right = {"action": "accept", "content": {"age": 36}}
    person = Person([wrong, right] if way[0] == "modern" else [right])

    async def play() -> None:
        async with conversation(world, way, config(world), person) as talk:
            envelope = json.loads(await talk.call("execute", {"code": ASK}))
            assert envelope["value"] == right, envelope

    anyio.run(play)
    assert person.asked[0] == "[talking] How old?"
    if way[0] == "modern":
        # A client of this generation receives the request again, with the problem.
        [_, again] = person.asked
        assert again.startswith("[talking] How old?\n(The last answer was not accepted: /age"), again


@every_way
def test_an_answer_that_does_not_fit_never_reaches_the_server(world: World, way: Way) -> None:
    person = Person([{"action": "accept", "content": {"age": 0}}])

    async def play() -> None:
        async with conversation(world, way, config(world, expose="direct"), person) as talk:
            try:
                answer = await talk.call("ask")
            except Exception as refused:
                # A client without another way to answer gives up before the gateway does.
                assert way[0] == "modern", refused
                return
            assert json.loads(answer) == {"action": "decline"}, answer

    anyio.run(play)
    assert person.asked


@every_way
def test_a_question_is_declined_where_nobody_can_be_asked(world: World, way: Way) -> None:
    async def play() -> None:
        async with conversation(world, way, config(world)) as talk:
            envelope = json.loads(await talk.call("execute", {"code": ASK}))
            assert envelope["value"] == {"action": "decline"}, envelope

    anyio.run(play)


@every_way
def test_changes_of_a_resource_reach_who_subscribed_to_it(world: World, way: Way) -> None:
    async def play() -> None:
        async with conversation(world, way, config(world, expose="both")) as talk:
            await until_listed(talk, SMALL)
            assert await talk.call("touch") == "", "there is no subscription"
            if way[0] == "legacy":
                await talk.client.subscribe_resource(RESOURCE)
                await until_touched(talk)
                updated = await talk.receives("notifications/resources/updated")
                assert str(updated.params.uri) == RESOURCE
                await talk.client.unsubscribe_resource(RESOURCE)
            else:
                async with talk.client.listen(resource_subscriptions=[RESOURCE]) as changes:
                    await until_touched(talk)
                    with anyio.fail_after(PATIENCE_S):
                        assert RESOURCE in str(await anext(aiter(changes)))
            # The server receives the unsubscription as well.
            with anyio.fail_after(PATIENCE_S):
                while await talk.call("touch") != "":
                    await anyio.sleep(0.05)

    anyio.run(play)


async def until_touched(talk: Conversation) -> None:
    """Makes the server announce a change to its subscribers, which it must know."""
    with anyio.fail_after(PATIENCE_S):
        while await talk.call("touch") != RESOURCE:
            await anyio.sleep(0.05)


def test_a_direct_call_is_kept_with_the_other_executions(world: World) -> None:
    async def play() -> None:
        async with conversation(world, ("modern", "pipes"), config(world, expose="direct")) as talk:
            assert await talk.call("touch") == ""

    anyio.run(play)
    [kept] = world.limbeck_json("executions")["executions"]
    assert (kept["origin"], kept["status"]) == ("mcp direct", "completed"), kept
    shown = world.limbeck_json("executions", kept["id"])
    assert "talking" in json.dumps(shown) and "touch" in json.dumps(shown), shown


# A person is asked about one tool, whose call the server answers with no text. The rule names the channel, because a
# client that came over the network is otherwise not believed to have asked a person.
ASKED = """
[policy]
preset = "observe"

[[policy.rule]]
id = "touching"
effect = "ask"
tools = ["talking.touch"]
ask = { channels = ["client", "cli"] }
"""


def asking(world: World) -> Path:
    """The talking server, its tools exposed, and a rule."""
    server = talking_server(world, expose="direct")
    lines = [f"{key} = {json.dumps(value)}" for key, value in server.items() if key != "env"]
    path = world.root / "asking.toml"
    path.write_text("\n".join(["[servers.talking]", *lines]) + "\n" + ASKED)
    return path


@dataclass
class Absent(Person):
    """Reads the question, and gives no answer."""

    async def __call__(self, context: Any, params: ElicitRequestFormParams) -> ElicitResult:
        await super().__call__(context, params)
        await anyio.sleep_forever()
        raise AssertionError


@every_way
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "program"])
def test_a_person_who_answers_the_form_decides_about_the_call(world: World, way: Way, *, direct: bool) -> None:
    person = Person([{"action": "accept", "content": {"decision": "approve"}}])

    async def play() -> None:
        async with conversation(world, way, asking(world), person) as talk:
            if direct:
                assert await talk.call("touch") == ""
            else:
                envelope = json.loads(await talk.call("execute", {"code": "return await tools.talking.touch({});"}))
                assert envelope["status"] == "completed", envelope

    anyio.run(play)
    [question] = person.asked
    assert "talking.touch" in question, question
    [approval] = world.limbeck_json("approvals", "--all")["approvals"]
    assert approval["state"] == "spent", approval
    assert [decision["channel"] for decision in approval["decisions"]] == ["client"], approval


@every_way
@pytest.mark.parametrize("how", ["cancels", "hangs", "leaves"])
def test_a_person_who_does_not_decide_leaves_the_call_open(world: World, way: Way, how: str) -> None:
    absent = Absent([{"action": "cancel"}])
    person = Person([{"action": "cancel"}]) if how == "cancels" else absent
    file = asking(world)

    def approvals() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = world.limbeck_json("approvals", "--all")["approvals"]
        return listed

    async def play() -> None:
        async with conversation(world, way, file, person) as talk, anyio.create_task_group() as calls:
            calls.start_soon(talk.call, "touch")
            with anyio.fail_after(PATIENCE_S):
                while not person.asked:
                    await anyio.sleep(0.02)
            if how != "leaves":
                # The question is looked at while the client is there.
                [asked] = await anyio.to_thread.run_sync(approvals)
                assert asked["state"] == "pending", asked
            calls.cancel_scope.cancel()

    anyio.run(play)
    [asked] = approvals()
    assert asked["state"] == "pending", asked
    # The control: the call waits, and is made when a person decides.
    execution = asked["execution_id"]
    resumed = world.limbeck_json("resume", execution, "--approve", "--config", str(file), "--no-discover")
    assert resumed["status"] == "completed", resumed
    [spent] = approvals()
    assert spent["state"] == "spent", spent
