"""What `limbeck types` writes is accepted by type checkers, for every tool of every captured list.

The checkers are those that people use: `tsc` from npm and `mypy` from PyPI, both at their strictest. Each
is shown a program that calls tools as they are, and programs that do not.
"""

import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from world import PATIENCE_S, REPOSITORY, TOOLS, World, entry, program

CATALOGS = REPOSITORY / "tests/catalogs/catalogs.json.gz"
SERVER = Path(__file__).with_name("catalog_server.py")

# Calls of captured tools in every form: both checkers must accept all of them.
RIGHT_TYPESCRIPT = """
async function main() {
  const { content } = await tools.filesystem.read_text_file({ path: "a", head: 3 });
  const text: string = content;
  await tools.everything["get-sum"]({ a: 1, b: 2 });
  const raw = await tools["sequential-thinking"].sequentialthinking.raw({
    thought: "x", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false });
  const failed: boolean | undefined = raw.isError;
  await tools.memory.read_graph();
  try { await callMCPTool("mcp__memory__read_graph"); }
  catch (e) { if (e instanceof ToolError) return e.hint; }
  return [text, failed, await search("x", { limit: 1 }), await store.get("k"), input];
}
"""

# Each must be refused, for a reason that names this.
WRONG_TYPESCRIPT = {
    'tools.filesystem.read_text_file({ pathh: "a" });': "pathh",
    "tools.filesystem.read_text_file({ path: 1 });": "number",
    "tools.filesystem.read_text_file();": "Expected 1 arguments",
    'tools.filesystem.read_it({ path: "a" });': "read_it",
    "tools.nowhere.read();": "nowhere",
    'tools.everything["get-annotated-message"]({ messageType: "bad" });': '"bad"',
    'tools.filesystem.read_text_file({ path: "a" }).content;': "Promise",
}

RIGHT_PYTHON = """
from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limbeck_types import *


async def awaited() -> str:
    one = await tools.filesystem.read_text_file(path="a", head=3)
    two, three = await asyncio.gather(
        tools.filesystem.read_text_file(path="b"), tools.filesystem.read_text_file({"path": "c"}))
    await tools["everything"]["get-sum"]({"a": 1, "b": 2})
    loosely: str = two["content"]
    return one.content + loosely + three.content


def plain() -> str:
    read = tools.filesystem.read_text_file(path="a")
    text: str = read.content
    total: str = tools.everything.get_sum(a=1, b=2)
    raw = tools["sequential-thinking"].sequentialthinking.raw(thought="x")
    failed: bool = raw.isError
    try:
        tools.memory.read_graph()
    except ToolError as error:
        return error.message
    return f"{text} {total} {failed} {search('x', limit=1)} {store.get('k')} {input}"
"""

# Names and texts that would end a literal, a comment or a class, or hide a name that stubs need.
HOSTILE = ['"""', "*/ }); //", "\\", "a\u2028b\u202e", "import", "self", "str", "list", "Any", "Tool", "__class__", "a-b", "a_b"]


def hostile_catalog() -> dict[str, Any]:
    """Tools whose names, properties, values and descriptions are all of the above."""
    properties = {name: {"type": "string", "enum": [name], "description": name, "default": name} for name in HOSTILE}
    nested = {"type": "object", "properties": {**properties, "inner": {"type": "object", "properties": properties}}}
    tools = [
        {"name": name, "title": name, "description": f"{name}\n\n{name}", "inputSchema": nested, "outputSchema": nested}
        for name in HOSTILE
        # Limbeck takes no tool whose name hides something.
        if name.isprintable()
    ]
    return {"server": "hostile \"server\"", "instructions": "\n".join(HOSTILE), "tools": tools}


WRONG_PYTHON = {
    'tools.filesystem.read_text_file(pathh="a")': 'keyword argument "pathh"',
    "tools.filesystem.read_text_file(path=1)": 'argument type "int"',
    "tools.filesystem.read_text_file()": "at least one argument",
    'tools.filesystem.read_text_file("a")': 'argument type "str"',
    'tools.filesystem.read_it(path="a")': '"read_it"',
    "tools.nowhere.read()": '"nowhere"',
    'tools["everything"]["get-annotated-message"](messageType="bad")': 'argument type "str"',
}


@dataclass(frozen=True)
class Declared:
    """The captured lists as servers, and the files written for them."""

    world: World
    servers: dict[str, int]
    directory: Path

    def types(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs `limbeck types` over all of them."""
        config = ("--config", str(self.world.root / "servers.json"), "--no-discover")
        return self.world.limbeck("types", *args, *config)


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Declared:
    """All captured lists, and their types in both languages."""
    world = World(tmp_path_factory.mktemp("types"))
    servers = {}
    counts = {}
    with gzip.open(CATALOGS, "rt", encoding="utf-8") as file:
        catalogs = json.load(file)
    for number, catalog in enumerate([*catalogs, hostile_catalog()]):
        path = world.root / f"catalog-{number}.json"
        path.write_text(json.dumps(catalog))
        # Without `site` an interpreter starts in half the time.
        servers[catalog["server"]] = entry([sys.executable, "-IS", str(SERVER)], str(path))
        counts[catalog["server"]] = len(catalog["tools"])
    world.config(servers)
    declared = Declared(world, counts, world.root / "typings")
    for language in ("ts", "py"):
        wrote = declared.types("--language", language, "--output", str(declared.directory))
        assert wrote.returncode == 0, wrote.stderr
        assert f"wrote {sum(counts.values())} tools of {len(counts)} servers" in wrote.stderr
    return declared


def tsc(declared: Declared, name: str, code: str) -> subprocess.CompletedProcess[str]:
    """Checks a program with the declarations beside it."""
    file = declared.world.root / name
    file.write_text(code)
    script = TOOLS / "node/node_modules/typescript/bin/tsc"
    assert script.is_file(), f"{script} is missing; `cargo xtask test` installs it"
    options = ["--strict", "--noEmit", "--target", "es2022", "--pretty", "false"]
    return run([program("node"), str(script), *options, "limbeck.d.ts", str(file)], declared)


def mypy(declared: Declared, name: str, code: str) -> subprocess.CompletedProcess[str]:
    """Checks the package and a program that uses it."""
    file = declared.world.root / name
    file.write_text(code)
    options = ["--strict", "--no-color-output", "--cache-dir", str(declared.world.root / "mypy")]
    return run([sys.executable, "-m", "mypy", *options, "limbeck_types", str(file)], declared)


def run(command: list[str], declared: Declared) -> subprocess.CompletedProcess[str]:
    """Runs a checker among the files that were written."""
    return subprocess.run(
        command, cwd=declared.directory, capture_output=True, text=True, timeout=2 * PATIENCE_S
    )


def test_tsc_accepts_every_catalog_and_a_program_that_uses_it(declared: Declared) -> None:
    checked = tsc(declared, "right.ts", RIGHT_TYPESCRIPT)

    assert (checked.returncode, checked.stdout) == (0, "")


def test_tsc_refuses_each_call_that_does_not_fit(declared: Declared) -> None:
    checked = tsc(declared, "wrong.ts", "\n".join(WRONG_TYPESCRIPT))

    lines = checked.stdout.splitlines()
    for number, (call, reason) in enumerate(WRONG_TYPESCRIPT.items(), start=1):
        about = [line for line in lines if f"wrong.ts({number}," in line]
        assert any(reason in line for line in about), f"{call}: {about}"


def test_mypy_accepts_every_catalog_and_a_program_that_uses_it(declared: Declared) -> None:
    checked = mypy(declared, "right.py", RIGHT_PYTHON)

    assert checked.returncode == 0, checked.stdout
    assert f"no issues found in {len(declared.servers) + 3} source files" in checked.stdout


def test_mypy_refuses_each_call_that_does_not_fit(declared: Declared) -> None:
    checked = mypy(declared, "wrong.py", "\n".join(["from limbeck_types import *", *WRONG_PYTHON]))

    lines = checked.stdout.splitlines()
    for number, (call, reason) in enumerate(WRONG_PYTHON.items(), start=2):
        about = [line for line in lines if f"wrong.py:{number}: error:" in line]
        assert any(reason in line for line in about), f"{call}: {about}"


def test_every_tool_of_every_catalog_is_declared_in_both_languages(declared: Declared) -> None:
    typescript = (declared.directory / "limbeck.d.ts").read_text()
    assert typescript.count("Limbeck.Tool<") + typescript.count("Limbeck.OptionalTool<") == sum(
        declared.servers.values()
    )
    package = declared.directory / "limbeck_types"
    python = [path.read_text() for path in package.glob("*.pyi") if path.name != "_limbeck.pyi"]
    assert sum(text.count("(Tool):\n") for text in python) == sum(declared.servers.values())


def test_one_server_is_printed_and_python_asks_for_a_directory(declared: Declared) -> None:
    printed = declared.types("memory")
    assert printed.returncode == 0
    assert printed.stdout.count("Tool<") == 2 + declared.servers["memory"]
    assert "  memory: {\n" in printed.stdout and "filesystem" not in printed.stdout

    refused = declared.types("memory", "--language", "py")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "error: Python stubs consist of several files\n\nhint: set a directory for them with `-o typings`\n"
    )

    unknown = declared.types("memry")
    assert unknown.returncode == 2
    assert "memory" in unknown.stderr
