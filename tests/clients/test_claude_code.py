"""Claude Code with the gateway as its server: it connects, and one whole turn costs the tokens we promise."""

import json
from typing import Any

from clients import claude, limbeck_entry, limbeck_serve, tokens
from figures import Measured
from model import LAST_WORD, Model, serving
from peer import Peer
from world import World

# Promises of docs/internals/performance.md, in tokens of o200k.
TOOLS_TOKENS_MAX = 650
INSTRUCTIONS_TOKENS_MAX = 600
# What a call adds beside the value the program returned: status, id, counts.
ENVELOPE_TOKENS_MAX = 100

LEDGER_LINES = 2_000
PROGRAM = """
const { content } = await tools.filesystem.read_text_file({ path: input });
const lines = content.trimEnd().split("\\n");
return { lines: lines.length, sum: lines.reduce((sum, line) => sum + Number(line.split(",")[1]), 0) };
"""


def turn(world: World, tool: str, arguments: dict[str, Any]) -> Model:
    """One turn with a model that calls `tool` once."""
    config = world.root / "claude.json"
    config.write_text(json.dumps({"mcpServers": {"limbeck": limbeck_entry(world)}}))
    name = f"mcp__limbeck__{tool}"
    options = ["--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", name]
    with serving(Model(name, arguments)) as model:
        access = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
        ran = claude(world, "-p", "Go.", *options, "--output-format", "json", **access)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["result"] == LAST_WORD
    return model


def test_mcp_list_connects_to_the_gateway(world: World) -> None:
    entry = limbeck_entry(world)
    added = claude(world, "mcp", "add-json", "-s", "user", "limbeck", json.dumps({"type": "stdio", **entry}))
    assert added.returncode == 0, added.stderr

    listed = claude(world, "mcp", "list")

    assert listed.returncode == 0, listed.stderr
    assert "Connected" in listed.stdout, listed.stdout


def test_a_turn_shows_the_model_our_tools_our_instructions_and_what_the_program_returned(
    world: World, measured: Measured
) -> None:
    ledger = world.files / "ledger.csv"
    ledger.write_text("".join(f"account-{number % 7},{number}\n" for number in range(LEDGER_LINES)))
    # Before any program ran; the instructions describe the known servers too.
    sent_instructions = instructions(world)

    model = turn(world, "execute", {"code": PROGRAM, "input": str(ledger)})

    envelope = json.loads(model.result)
    value = {"lines": LEDGER_LINES, "sum": sum(range(LEDGER_LINES))}
    assert (envelope["status"], envelope["value"]) == ("completed", value)
    own_tools = [tool for tool in model.offered["tools"] if tool["name"].startswith("mcp__limbeck__")]
    assert json.dumps(sent_instructions)[1:-1] in json.dumps(model.offered)
    listed, instructed, read, returned, avoided = tokens(
        world, compact(own_tools), sent_instructions, model.result, compact(value), ledger.read_text()
    )
    measured(tools_tokens=listed, instructions_tokens=instructed, result_tokens=read, file_tokens=avoided)
    assert listed <= TOOLS_TOKENS_MAX
    assert instructed <= INSTRUCTIONS_TOKENS_MAX
    assert read <= returned + ENVELOPE_TOKENS_MAX
    # The control: the file itself would have been far more, and none of it is in any request.
    assert avoided > 50 * read
    assert "account-3,1001" not in compact(model.requests)


def test_a_turn_of_a_search_shows_the_model_signatures_to_copy(world: World) -> None:
    model = turn(world, "search", {"queries": ["read a text file"]})

    assert "tools.filesystem.read_text_file(" in model.result


def test_an_error_of_a_program_reaches_the_model_with_its_line(world: World) -> None:
    model = turn(world, "execute", {"code": "const x = 1;\nthrow new Error(`boom ${x}`);"})

    error = json.loads(model.result)["error"]
    assert (error["line"], "boom 1" in error["message"]) == (2, True)


def instructions(world: World) -> str:
    """Instructions that the gateway sends to every client."""
    _, *options = limbeck_serve(world)[1:]
    with Peer(world, "modern", *options) as peer:
        return peer.ask("server/discover", {})["instructions"]


def compact(value: Any) -> str:
    """JSON as it goes over a wire."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
