"""An execution is repeated from its journal alone: no configuration, no server, no files."""

import shutil
from typing import Any

import pytest

from gateway import Envelope, Gateway, envelope_of, serve_config
from world import World

PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "pure": ("return [1, 2, 3].map((n) => n * input);", {"input": 7}),
    "clock, randomness and timers": (
        """
        const began = Date.now();
        await new Promise((done) => setTimeout(done, 30));
        const ids = [crypto.randomUUID(), Math.random(), new Date().toISOString()];
        return { ids, waited: Date.now() - began };
        """,
        {},
    ),
    "parallel reads in the order they ended": (
        """
        const order = [];
        await Promise.all(input.map(async (path, at) => {
          const { content } = await tools.filesystem.read_text_file({ path });
          order.push([at, content.length]);
        }));
        return order;
        """,
        {},
    ),
    "a race": (
        """
        const wait = (duration) => tools.everything["trigger-long-running-operation"]({ duration, steps: 1 });
        return await Promise.race([wait(0.3), wait(0.05), wait(0.2)]);
        """,
        {},
    ),
    "writes": (
        """
        await tools.filesystem.write_file({ path: `${input[0]}.copy`, content: "copied" });
        return await tools.filesystem.get_file_info({ path: `${input[0]}.copy` });
        """,
        {},
    ),
    "search and describe": (
        'return { found: await search("read a file"), described: await describe("time", "convert_time"), all: await servers() };',
        {},
    ),
    "the store": (
        'await store.set("count", (await store.get("count") ?? 0) + 1); return await store.get("count");',
        {},
    ),
    "caught errors": (
        """
        const results = await Promise.allSettled([
          tools.filesystem.read_text_file({ path: "/nowhere" }),
          tools.everything.echo({}),
          tools.missing.nothing(),
        ]);
        return results.map(({ reason }) => [reason.code, reason.message]);
        """,
        {},
    ),
    "printed text": (
        'for (let n = 0; n < 50; n++) console.log("line", n, { n }); console.error("done");',
        {},
    ),
    "an exception": ('console.log("before");\nnull.property;', {}),
    "a tool error": ("return await tools.everything.echo({ nothing: 1 });", {}),
    "a syntax error": ("return {;", {}),
    "a timeout": ("while (true) {}", {"timeout_ms": 200}),
    "a promise that never settles": ("await new Promise(() => {});", {}),
}


def comparable(envelope: dict[str, Any]) -> dict[str, Any]:
    """What must be the same: everything but the counts and notes of calls that a replay does not make."""
    return {key: envelope.get(key) for key in ("status", "value", "stdout", "stderr", "error")}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, dict[str, Envelope]]:
    """Every program, run once over real servers whose files are gone afterwards."""
    world = World(tmp_path_factory.mktemp("recorded"))
    paths = []
    for number in range(12):
        path = world.files / f"{number}.txt"
        path.write_text("x" * (1 + number * 1000))
        paths.append(str(path))
    config = world.config(world.only("filesystem", "everything", "time"))
    with serve_config(world, "modern", config) as gateway:
        envelopes = {
            name: gateway.execute(code, **{"input": paths, **more}) for name, (code, more) in PROGRAMS.items()
        }
    shutil.rmtree(world.files)
    config.unlink()
    return world, envelopes


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replay_without_any_server_gives_what_the_run_gave(
    recorded: tuple[World, dict[str, Envelope]], name: str
) -> None:
    world, envelopes = recorded
    envelope = envelopes[name]

    replayed = world.limbeck_json("replay", envelope.id, "--no-discover")

    assert replayed["differences"] == []
    assert comparable(replayed["envelope"]) == comparable(envelope.raw)


def test_every_execution_is_listed_with_its_end_and_its_effects(
    recorded: tuple[World, dict[str, Envelope]],
) -> None:
    world, envelopes = recorded
    rows = {row["id"]: row for row in world.limbeck_json("executions", "--limit", "100")["executions"]}

    assert rows.keys() == {envelope.id for envelope in envelopes.values()}
    for envelope in envelopes.values():
        row = rows[envelope.id]
        assert row["status"] == envelope.raw["status"]
        assert row["effects"] == envelope.effects
    assert envelopes["parallel reads in the order they ended"].effects == {"reads": 12, "writes": 0}
    assert envelopes["writes"].effects == {"reads": 1, "writes": 1}


def test_everything_a_shared_gateway_ran_so_far_can_be_replayed_beside_it(gateway: Gateway) -> None:
    gateway.execute('return await tools.everything.echo({ message: "at least this" });')
    rows = gateway.world.limbeck_json("executions", "--limit", "200")["executions"]
    ended = [row["id"] for row in rows if row["status"] in ("completed", "failed")]

    assert ended
    for id in ended:
        assert gateway.world.limbeck_json("replay", id, "--no-discover")["differences"] == [], id


def test_two_gateways_with_one_home_record_side_by_side(world: World) -> None:
    config = world.config(world.only("filesystem"))
    code = "await tools.filesystem.write_file({ path: input, content: input }); return input;"
    with serve_config(world, "legacy", config) as one, serve_config(world, "modern", config) as other:
        running = {}
        for number in range(12):
            for gateway in (one, other):
                path = str(world.files / f"{gateway.era}-{number}")
                running[path] = gateway.start(code, input=path)
        ended = {path: envelope_of(future.result(timeout=20)) for path, future in running.items()}

    assert all(envelope.value == path for path, envelope in ended.items())
    rows = {row["id"]: row for row in world.limbeck_json("executions", "--limit", "100")["executions"]}
    assert rows.keys() == {envelope.id for envelope in ended.values()}
    assert all(row["effects"] == {"reads": 0, "writes": 1} for row in rows.values())
    for envelope in list(ended.values())[:2]:
        assert world.limbeck_json("replay", envelope.id)["differences"] == []
