"""Everyday tasks, each played as a client does: one search that finds the tools, one program, the right answer.

They are those of the usage review. Two of its sixteen are not here, as no server of this directory can do them: fetching
two pages, and a snapshot of a page in a browser. Where it used a database, the table is a graph of the memory server.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway import Gateway, envelope_of, serve_config
from world import World


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway over all six servers; tasks keep to names of their own."""
    world = World(tmp_path_factory.mktemp("tasks"))
    with serve_config(world, "modern", world.config(world.servers())) as gateway:
        yield gateway


def found(gateway: Gateway, query: str, *calls: str) -> None:
    """Checks that one search shows the tools that a task needs."""
    shown = gateway.search(query, limit=10)
    for call in calls:
        assert call in shown, shown


def directory(gateway: Gateway, name: str, files: dict[str, str]) -> str:
    """A new directory of files, for the filesystem server."""
    path = gateway.world.files / name
    for file, content in files.items():
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(content)
    return str(path)


def play(gateway: Gateway, code: str, input: Any = None, **more: Any) -> Any:
    """The value of a program, which gets no warning."""
    envelope = gateway.execute(code, input=input, **more)
    assert not envelope.warnings, envelope.raw
    return envelope.value


def test_sales_are_summed_by_region(gateway: Gateway) -> None:
    found(gateway, "read a text file", "tools.filesystem.read_text_file")
    rows = ["region,product,amount", "north,tea,10.5", "south,tea,3", "north,salt,0.25", "west,tea,7", "south,salt,4"]
    path = directory(gateway, "sales", {"sales.csv": "\n".join(rows) + "\n"})

    value = play(
        gateway,
        """
        const { content } = await tools.filesystem.read_text_file({ path: `${input}/sales.csv` });
        const [, ...rows] = content.trim().split("\\n");
        const totals: Record<string, number> = {};
        for (const row of rows) {
          const [region, , amount] = row.split(",");
          totals[region] = (totals[region] ?? 0) + Number(amount);
        }
        return totals;
        """,
        path,
    )

    assert value == {"north": 10.75, "south": 7, "west": 7}


def test_all_todos_are_found_with_their_places(gateway: Gateway) -> None:
    found(gateway, "search files by pattern", "tools.filesystem.search_files")
    path = directory(
        gateway,
        "source",
        {
            "main.py": "import os\n# TODO: close the file\nprint(1)\n",
            "lib/deep/parse.py": "x = 1  # TODO: name it\n\n# TODO: test it\n",
            "lib/clean.py": "print('nothing to do')\n",
            "notes.txt": "TODO: this is no source\n",
        },
    )

    value = play(
        gateway,
        """
        const { content } = await tools.filesystem.search_files({ path: input, pattern: "**/*.py" });
        const paths = content.split("\\n").filter(Boolean);
        const files = await Promise.all(paths.map(async (path) => (
          { path, lines: (await tools.filesystem.read_text_file({ path })).content.split("\\n") })));
        return files.flatMap(({ path, lines }) => lines.flatMap((line, at) => {
          const todo = line.match(/TODO: (.*)/)?.[1];
          return todo === undefined ? [] : [`${path.slice(input.length + 1)}:${at + 1} ${todo}`];
        })).sort();
        """,
        path,
    )

    assert value == ["lib/deep/parse.py:1 name it", "lib/deep/parse.py:3 test it", "main.py:2 close the file"]


def test_the_last_commits_and_whether_the_tree_is_dirty(gateway: Gateway) -> None:
    found(gateway, "git commit history", "tools.git.git_log")
    found(gateway, "git working tree status", "tools.git.git_status")
    repository = gateway.world.repository("history")
    for number in range(5):
        repository.commit("file.txt", f"{number}\n", f"change {number}")
    program = """
import re

log = tools.git.git_log(repo_path=input, max_count=3)
status = tools.git.git_status(repo_path=input)
return {"subjects": re.findall(r"^Message: (.*)$", log, re.M), "dirty": "working tree clean" not in status}
"""

    clean = play(gateway, program, str(repository.path), language="python")
    (repository.path / "file.txt").write_text("changed\n")
    dirty = play(gateway, program, str(repository.path), language="python")

    assert clean == {"subjects": ["change 4", "change 3", "change 2"], "dirty": False}
    assert dirty == {**clean, "dirty": True}


def test_the_difference_between_the_times_of_two_cities(gateway: Gateway) -> None:
    found(gateway, "current time in a timezone", "tools.time.get_current_time")
    cities = ["Asia/Kolkata", "America/New_York"]
    now = datetime.now(UTC)
    offsets = [now.astimezone(ZoneInfo(city)).utcoffset() for city in cities]

    value = play(
        gateway,
        """
        const [there, here] = await Promise.all(input.map((timezone) => tools.time.get_current_time({ timezone })));
        const minutes = (text) => {
          const [, sign, hours, rest] = text.match(/([+-])(\\d\\d):(\\d\\d)$/);
          return Number(`${sign}1`) * (Number(hours) * 60 + Number(rest));
        };
        return (minutes(there.datetime) - minutes(here.datetime)) / 60;
        """,
        cities,
    )

    assert value == (offsets[0] - offsets[1]).total_seconds() / 3600


def test_a_csv_file_becomes_a_table_that_is_aggregated(gateway: Gateway) -> None:
    found(gateway, "create entities in the knowledge graph", "tools.memory.create_entities")
    rows = {"order-1": 30, "order-2": 12, "order-3": 8}
    path = directory(gateway, "orders", {"orders.csv": "id,total\n" + "".join(f"{id},{total}\n" for id, total in rows.items())})

    value = play(
        gateway,
        """
import csv, io

text = tools.filesystem.read_text_file(path=f"{input}/orders.csv")["content"]
rows = list(csv.DictReader(io.StringIO(text)))
tools.memory.create_entities(entities=[
    {"name": row["id"], "entityType": "order", "observations": [f"total {row['total']}"]} for row in rows
])
kept = tools.memory.open_nodes(names=[row["id"] for row in rows])["entities"]
totals = [int(order["observations"][0].split()[1]) for order in kept]
return {"count": len(totals), "sum": sum(totals), "max": max(totals)}
""",
        path,
        language="python",
    )

    assert value == {"count": 3, "sum": 50, "max": 30}


def test_entities_and_a_relation_are_in_the_graph(gateway: Gateway) -> None:
    found(gateway, "relations between entities", "tools.memory.create_relations")

    value = play(
        gateway,
        """
        await tools.memory.create_entities({ entities: [
          { name: "Ada", entityType: "person", observations: ["writes programs"] },
          { name: "Engine", entityType: "machine", observations: [] },
        ] });
        await tools.memory.create_relations({ relations: [{ from: "Ada", to: "Engine", relationType: "programs" }] });
        const { entities, relations } = await tools.memory.open_nodes({ names: ["Ada", "Engine"] });
        return [entities.map(({ name }) => name).sort(), relations.map(({ from, relationType, to }) => [from, relationType, to])];
        """,
    )

    assert value == [["Ada", "Engine"], [["Ada", "programs", "Engine"]]]


def test_two_numbers_are_added_by_a_server(gateway: Gateway) -> None:
    found(gateway, "add two numbers", "get-sum")

    text = play(gateway, 'return await tools.everything["get-sum"]({ a: 2, b: 40 });')

    assert text == "The sum of 2 and 40 is 42."


def test_three_thoughts_are_had_in_order(gateway: Gateway) -> None:
    found(gateway, "think step by step", "sequentialthinking")

    value = play(
        gateway,
        """
        const numbers = [];
        for (const thought of ["measure", "compare", "decide"]) {
          const reply = await tools["sequential-thinking"].sequentialthinking({
            thought, thoughtNumber: numbers.length + 1, totalThoughts: 3, nextThoughtNeeded: numbers.length < 2 });
          numbers.push([reply.thoughtNumber, reply.nextThoughtNeeded]);
        }
        return numbers;
        """,
    )

    assert value == [[1, True], [2, True], [3, False]]


def test_a_report_is_written_from_the_log(gateway: Gateway) -> None:
    found(gateway, "write a file", "tools.filesystem.write_file")
    repository = gateway.world.repository("reported")
    for number, author in enumerate(["Ada", "Grace", "Ada"]):
        repository.git("config", "user.name", author)
        repository.commit("file.txt", f"{number}\n", f"change {number}")

    play(
        gateway,
        """
        const log = await tools.git.git_log({ repo_path: input, max_count: 50 });
        const counts = new Map<string, number>();
        for (const [, author] of log.matchAll(/^Author: (\\w+)/gm)) counts.set(author, (counts.get(author) ?? 0) + 1);
        const lines = [...counts].sort().map(([author, count]) => `- ${author}: ${count}`);
        await tools.filesystem.write_file({ path: `${input}/REPORT.md`, content: `# Commits\\n\\n${lines.join("\\n")}\\n` });
        return null;
        """,
        str(repository.path),
    )

    assert (repository.path / "REPORT.md").read_text() == "# Commits\n\n- Ada: 2\n- Grace: 1\n"


def test_an_image_is_a_handle_in_the_value_and_is_shown_by_emit(gateway: Gateway) -> None:
    found(gateway, "a tiny image", "get-tiny-image")
    code = """
    const result = await tools.everything["get-tiny-image"]({});
    await emit(result);
    return result;
    """

    result = gateway.call("execute", {"code": code})
    envelope = envelope_of(result.model_copy(update={"content": result.content[:1]}))

    [image] = [part for part in envelope.value if isinstance(part, dict)]
    assert (image["mimeType"], image["artifact"][:4], image["bytes"] > 100) == ("image/png", "art_", True)
    [shown] = result.content[1:]
    assert (shown.type, shown.mime_type, shown.data[:5]) == ("image", "image/png", "iVBOR")


def test_a_long_operation_is_waited_for(gateway: Gateway) -> None:
    found(gateway, "long running operation", "trigger-long-running-operation")

    text = play(gateway, 'return await tools.everything["trigger-long-running-operation"]({ duration: 1, steps: 2 });')

    assert text == "Long running operation completed. Duration: 1 seconds, Steps: 2."


def test_a_version_is_raised_and_the_rest_of_the_file_stays(gateway: Gateway) -> None:
    found(gateway, "edit a text file", "tools.filesystem.edit_file")
    package = {"name": "shop", "version": "1.9.9", "dependencies": {"tea": "1.9.9"}}
    path = directory(gateway, "package", {"package.json": json.dumps(package, indent=2) + "\n"})

    value = play(
        gateway,
        """
        const path = `${input}/package.json`;
        const { content } = await tools.filesystem.read_text_file({ path });
        const { version } = JSON.parse(content);
        const [major, minor, patch] = version.split(".").map(Number);
        const next = `${major}.${minor}.${patch + 1}`;
        await tools.filesystem.edit_file({ path, edits: [{ oldText: `"version": "${version}"`, newText: `"version": "${next}"` }] });
        return next;
        """,
        path,
    )

    assert value == "1.9.10"
    assert (Path(path) / "package.json").read_text() == json.dumps({**package, "version": "1.9.10"}, indent=2) + "\n"


def test_the_status_of_four_servers_in_one_answer(gateway: Gateway) -> None:
    found(gateway, "list a directory", "tools.filesystem.list_directory")
    repository = gateway.world.repository("status")
    repository.commit("a.txt", "a\n", "first")
    (repository.path / "b.txt").write_text("b\n")

    value = play(
        gateway,
        """
import asyncio

async def main():
    now, listing, branches, graph = await asyncio.gather(
        tools.time.get_current_time(timezone="UTC"),
        tools.filesystem.list_directory(path=input),
        tools.git.git_branch(repo_path=input, branch_type="local"),
        tools.memory.search_nodes(query="nothing has this name"),
    )
    return {
        "zone": now["timezone"],
        "files": sorted(line.split("] ")[1] for line in listing["content"].splitlines() if line.startswith("[FILE]")),
        "branch": branches.strip(),
        "nodes": len(graph["entities"]),
    }

asyncio.run(main())
""",
        str(repository.path),
        language="python",
    )

    assert value == {"zone": "UTC", "files": ["a.txt", "b.txt"], "branch": "* main", "nodes": 0}


def test_resources_and_prompts_of_a_server_are_read(gateway: Gateway) -> None:
    value = play(
        gateway,
        """
        const { resources, prompts } = servers.everything;
        const [first] = await resources.list();
        const [read] = await resources.read(first.uri);
        const prompt = await prompts.get("args-prompt", { city: "Oslo" });
        return {
          same: read.uri === first.uri,
          hasText: read.text.length > 0,
          prompts: (await prompts.list()).map(({ name }) => name),
          asked: prompt.messages[0].content.text,
        };
        """,
    )

    assert (value["same"], value["hasText"]) == (True, True)
    assert {"simple-prompt", "args-prompt"} <= set(value["prompts"])
    assert "Oslo" in value["asked"]
