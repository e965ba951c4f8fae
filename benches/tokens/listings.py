"""What a model reads before it does anything: definitions and instructions with three, ten and seventy servers."""

import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counting import count, shown
from gateway import serve_config
from world import LIMBECK, REPOSITORY, World

CATALOGS = REPOSITORY / "tests/catalogs/catalogs.json.gz"
SERVER = REPOSITORY / "tests/real/catalog_server.py"

THREE = ["filesystem", "github", "slack-legacy"]
TEN = [
    "bitwarden", "filesystem", "firecrawl", "github", "grafana",
    "kubernetes-redhat", "linear", "notion", "playwright", "slack-legacy",
]  # fmt: skip
SEVENTY = 70
# Seventy servers list their tools, started four at a time.
PATIENCE_S = 300


@dataclass(frozen=True)
class Listing:
    """The figures of one set of servers."""

    name: str
    servers: int
    tools: int
    direct: int
    definitions: int
    instructions: int
    shown: str

    @property
    def limbeck(self) -> int:
        """All that Limbeck shows."""
        return self.definitions + self.instructions


def measure(directory: Path) -> list[Listing]:
    """The three sets of servers, through a real gateway whose cache knows them."""
    captured = json.loads(gzip.decompress(CATALOGS.read_bytes()))
    by_name = {catalog["server"]: catalog for catalog in captured}
    again = {f"{name}-2": catalog for name, catalog in by_name.items()}
    every = dict(list({**by_name, **again}.items())[:SEVENTY])
    return [
        _measure(directory / "three", "three servers", {name: by_name[name] for name in THREE}),
        _measure(directory / "ten", "ten servers", {name: by_name[name] for name in TEN}),
        _measure(directory / "seventy", "seventy servers", every),
    ]


def _measure(directory: Path, name: str, catalogs: dict[str, Any]) -> Listing:
    world = World(directory)
    servers = {}
    for server, catalog in catalogs.items():
        path = directory / f"{server}.json"
        path.write_text(json.dumps(catalog))
        servers[server] = {"command": sys.executable, "args": ["-S", "-E", str(SERVER), str(path)]}
    config = world.config(servers)
    listing = [LIMBECK, "tools", "--json", "--config", str(config), "--no-discover"]
    ran = subprocess.run(
        listing, env=world.environment(), cwd=world.project, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stderr
    tools = [tool for catalog in catalogs.values() for tool in catalog["tools"]]
    direct = [shown(tool["name"], tool.get("description"), tool["inputSchema"]) for tool in tools]
    with serve_config(world, "legacy", config) as gateway:
        ours = [shown(tool.name, tool.description, tool.input_schema) for tool in gateway.tools().tools]
        instructions = gateway.client.instructions or ""
    said = next(line for line in instructions.splitlines() if line.startswith("Servers ("))
    return Listing(
        name, len(servers), len(tools), count(direct), count(ours), count([instructions]), said.split("(")[1].split(" shown")[0]
    )
