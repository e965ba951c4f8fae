"""Commands of third-party clients, run from their packages in the home of a test world."""

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

from world import LIMBECK, PATIENCE_S, TOOLS, World

PACKAGES = TOOLS / "clients/node_modules"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
# Clients need a newer Node than the servers do, so it is one of the packages.
NODE = PACKAGES / f"node-linux-{MACHINE}/bin/node"
SCRIPTS = Path(__file__).parent

CLAUDE = str(PACKAGES / f"@anthropic-ai/claude-code-linux-{MACHINE}/claude")
CODEX = "@openai/codex/bin/codex.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
MCP_REMOTE = "mcp-remote/dist/proxy.js"
SUPERGATEWAY = "supergateway/dist/index.js"

# Three servers of three kinds: few tools in Node, structured results in Node, the modern era in Python.
SERVERS = ("filesystem", "memory", "time")


def node(script: Path, *args: str) -> list[str]:
    """The command line of a script."""
    return [str(NODE), str(script), *args]


def package(path: str, *args: str) -> list[str]:
    """The command line of a program of a package."""
    script = PACKAGES / path
    assert script.is_file(), f"{script} is missing; `cargo xtask test` installs it"
    return node(script, *args)


def limbeck_serve(world: World) -> list[str]:
    """The command line of a gateway over `SERVERS`, as a client's configuration has it."""
    config = world.config(world.only(*SERVERS))
    return [str(LIMBECK), "serve", "--config", str(config), "--no-discover"]


def limbeck_entry(world: World) -> dict[str, Any]:
    """The gateway as an entry of `mcpServers`."""
    command, *args = limbeck_serve(world)
    return {"command": command, "args": args}


def run(world: World, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a client to its end."""
    return subprocess.run(
        command,
        env=world.environment(**environment),
        cwd=world.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )


def run_json(world: World, command: list[str], **environment: str) -> Any:
    """What a client that ends well prints, as JSON."""
    ran = run(world, command, **environment)
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stdout}{ran.stderr}"
    return json.loads(ran.stdout)


def claude(world: World, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Claude Code, which otherwise looks for news of itself."""
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return run(world, [CLAUDE, *args], **quiet, **environment)


def tokens(world: World, *texts: str) -> list[int]:
    """How many tokens of o200k each text has."""
    path = world.root / "texts.json"
    path.write_text(json.dumps(texts))
    return run_json(world, node(SCRIPTS / "tokens.cjs", str(PACKAGES), str(path)))
