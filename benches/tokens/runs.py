"""Does every task twice, with direct calls and with a program, and compares what is left."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from counting import compact, count, shown
from gateway import Gateway, serve_config
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult
from state import state_of
from tasks import HOME, Call, Task
from world import TOOLS, World, entry, program

# It needs a library of its time, and so an environment of its own.
SQLITE = TOOLS / "tokens/venv/bin/mcp-server-sqlite"
# Seven processes share the machine with other work.
PATIENCE_S = 120.0
SERVERS = ["everything", "filesystem", "git", "memory", "sqlite"]


@dataclass(frozen=True)
class Direct:
    """A task with direct calls, in tokens but for the first two."""

    turns: int
    calls: int
    definitions: int
    all_definitions: int
    arguments: int
    results: int

    @property
    def total(self) -> int:
        """With the definitions of the servers the task needs."""
        return self.definitions + self.arguments + self.results

    @property
    def total_of_five(self) -> int:
        """With the definitions of all five servers."""
        return self.all_definitions + self.arguments + self.results


@dataclass(frozen=True)
class Programmed:
    """A task with a program, in tokens but for the turns."""

    turns: int
    listing: int
    search: int
    program: int
    result: int

    @property
    def total(self) -> int:
        """Everything the model read and wrote."""
        return self.listing + self.search + self.program + self.result


@dataclass(frozen=True)
class Outcome:
    """Both ways."""

    task: Task
    direct: Direct
    limbeck: Programmed


def run(world: World, tasks: list[Task]) -> tuple[list[Outcome], int]:
    """Does every task, and counts the tools of the five servers. All servers work in one world, which is laid out again for each run."""
    servers = world.only("everything", "filesystem", "git", "memory")
    servers["sqlite"] = entry([str(SQLITE)], "--db-path", str(world.root / "data.db"))
    config = world.config(servers)
    with serve_config(world, "legacy", config) as gateway:
        gateway.search("anything")  # Every server is known now, as it is from the second start on.
    with _direct_clients(world, servers) as clients, serve_config(world, "legacy", config) as gateway:
        definitions = {name: count(clients.tools(name)) for name in SERVERS}
        tools = sum(len(clients.tools(name)) for name in SERVERS)
        return [_both(world, clients, gateway, definitions, task) for task in tasks], tools


class _Clients:
    """A client of each server."""

    def __init__(self, portal: BlockingPortal, clients: dict[str, Client]) -> None:
        self._portal = portal
        self._clients = clients

    def tools(self, server: str) -> list[str]:
        """Its definitions."""
        tools = self._portal.call(self._clients[server].list_tools).tools
        return [shown(tool.name, tool.description, tool.input_schema) for tool in tools]

    def call(self, call: Call) -> str:
        """The text a model reads: what clients show, which is the structured content when there is some."""
        result: CallToolResult = self._portal.call(self._clients[call.server].call_tool, call.tool, call.arguments)
        assert not result.is_error, (call, result)
        if result.structured_content is not None:
            return compact(result.structured_content)
        return "\n".join(block.text for block in result.content if block.type == "text")


@contextmanager
def _direct_clients(world: World, servers: dict[str, Any]) -> Iterator[_Clients]:
    with world.log.open("a") as log, start_blocking_portal() as portal, ExitStack() as stack:
        clients = {}
        for name, server in servers.items():
            parameters = StdioServerParameters(
                command=server["command"],
                args=server["args"],
                env=world.environment(**server["env"]),
                cwd=world.project,
            )
            client = Client(stdio_client(parameters, errlog=log), mode="legacy", read_timeout_seconds=PATIENCE_S)
            stack.enter_context(portal.wrap_async_context_manager(client))
            clients[name] = client
        yield _Clients(portal, clients)


def _both(
    world: World, clients: _Clients, gateway: Gateway, definitions: dict[str, int], task: Task
) -> Outcome:
    here = str(world.root)

    def true(value: Any) -> Any:
        return json.loads(json.dumps(value).replace(HOME, here))

    def portable(text: str) -> str:
        return text.replace(here, HOME)

    _lay_out(world, task)
    arguments, results = [], []
    for turn in task.turns:
        for call in turn:
            arguments.append(compact(call.arguments))
            results.append(portable(clients.call(Call(call.server, call.tool, true(call.arguments)))))
    turns = len(task.turns)
    needed = sum(definitions[name] for name in task.servers)
    direct = Direct(
        turns, len(arguments), turns * needed, turns * sum(definitions.values()), count(arguments), count(results)
    )
    _hold(world, task, "direct calls")
    left = state_of(world)

    _lay_out(world, task)
    asked = {"queries": task.search}
    sent = {"code": task.program}
    if task.language != "typescript":
        asked["language"] = sent["language"] = task.language
    found = gateway.call("search", asked)
    answer = gateway.call("execute", true(sent))
    envelope = json.loads(_text(answer))
    assert envelope["status"] == "completed", (task.name, envelope)
    assert task.answer is None or envelope.get("value") == task.answer, (task.name, envelope)
    _hold(world, task, "the program")
    listing = [shown(tool.name, tool.description, tool.input_schema) for tool in gateway.tools().tools]
    once = count([*listing, gateway.client.instructions or ""])
    limbeck = Programmed(
        2, 2 * once, count([compact(asked), portable(_text(found))]), count([compact(sent)]), count([portable(_text(answer))])
    )
    assert state_of(world) == left, f"{task.name}: the two ways left different states"
    return Outcome(task, direct, limbeck)


def _text(result: CallToolResult) -> str:
    [block] = result.content
    assert block.type == "text", result
    return block.text


def _lay_out(world: World, task: Task) -> None:
    for path in [world.root / "memory.jsonl", world.root / "data.db"]:
        path.unlink(missing_ok=True)
    for path in world.files.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _bash(world, task.setup, task.name)


def _hold(world: World, task: Task, way: str) -> None:
    _bash(world, task.check, f"{task.name} after {way}")


def _bash(world: World, script: str, what: str) -> None:
    environment = world.environment()
    ran = subprocess.run(
        [program("bash"), "-euc", script],
        env={**environment, "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"},
        cwd=world.files,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, f"{what}: {script}\n{ran.stdout}{ran.stderr}"
