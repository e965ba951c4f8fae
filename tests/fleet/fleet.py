"""Two dozen third-party servers: the command of each, and one call that reaches it without side effects.

They cover many ways to write a server: three SDKs for TypeScript, two for Python, one for Go,
frameworks above them, five revisions of the protocol, one tool and two hundred. Credentials are placeholders and names
of the network do not resolve, so a call ends in the server's own words about that; what counts is that it got there.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from world import MARK, TOOLS, World, entry, program

NODE_PACKAGES = TOOLS / "fleet/node/node_modules"
PYTHON_SCRIPTS = TOOLS / "fleet/venv/bin"
OFFLINE = Path(__file__).parent / "offline.cjs"
# A port without a listener.
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Member:
    """One server."""

    path: str
    call: str
    arguments: dict[str, Any] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    def entry(self, mark: str) -> dict[str, Any]:
        """Its entry of `mcpServers`."""
        if self.path.endswith("js"):
            command = [program("node"), str(NODE_PACKAGES / self.path)]
            offline = {"NODE_OPTIONS": f"--require={OFFLINE}"}
        else:
            command = [str(PYTHON_SCRIPTS / self.path)]
            offline = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
        return entry(command, *self.args, **offline, **self.env, **{MARK: mark})


MEMBERS = {
    "aws-docs": Member(
        "awslabs.aws-documentation-mcp-server",
        "read_documentation",
        {"url": "https://docs.aws.amazon.com/s3/index.html"},
    ),
    "bitwarden": Member("@bitwarden/mcp-server/dist/index.js", "status"),
    "circleci": Member(
        "@circleci/mcp-server-circleci/dist/index.js",
        "get_latest_pipeline_status",
        env={"CIRCLECI_TOKEN": "none"},
    ),
    "cloudflare": Member(
        "@cloudflare/mcp-server-cloudflare/dist/index.js",
        "get_kvs",
        args=("run", "account"),
        env={"CLOUDFLARE_API_TOKEN": "none"},
    ),
    "context7": Member(
        "@upstash/context7-mcp/dist/index.js",
        "resolve-library-id",
        {"query": "parse JSON", "libraryName": "serde"},
    ),
    "fetch": Member("mcp-server-fetch", "fetch", {"url": NOWHERE}),
    "figma": Member(
        "figma-developer-mcp/dist/bin.js",
        "get_figma_data",
        {"fileKey": "none"},
        args=("--stdio",),
        env={"FIGMA_API_KEY": "none"},
    ),
    "github": Member(
        "@modelcontextprotocol/server-github/dist/index.js", "search_repositories", {"query": "mcp"}
    ),
    "grafana": Member(
        "mcp-grafana",
        "get_annotation_tags",
        env={"GRAFANA_URL": NOWHERE, "GRAFANA_SERVICE_ACCOUNT_TOKEN": "none"},
    ),
    "hubspot": Member(
        "@hubspot/mcp-server/dist/index.js",
        "hubspot-get-user-details",
        env={"PRIVATE_APP_ACCESS_TOKEN": "none"},
    ),
    "jira": Member(
        "@aashari/mcp-server-atlassian-jira/dist/index.js", "jira_get", {"path": "/rest/api/3/myself"}
    ),
    "linear": Member(
        "@tacticlaunch/mcp-linear/dist/index.js", "linear_getViewer", env={"LINEAR_API_TOKEN": "none"}
    ),
    "mapbox": Member(
        "@mapbox/mcp-server/dist/index.js",
        "ReverseGeocodeTool",
        {"longitude": 15.4, "latitude": 47.1},
        env={"MAPBOX_ACCESS_TOKEN": "pk.none.none"},
    ),
    "motherduck": Member(
        "mcp-server-motherduck", "list_databases", args=("--db-path", ":memory:", "--read-write")
    ),
    "neon": Member(
        "@neondatabase/mcp-server-neon/dist/index.js",
        "__node_version",
        {"params": {}},
        args=("start", "none"),
    ),
    "notion": Member(
        "@notionhq/notion-mcp-server/bin/cli.mjs", "API-get-self", env={"NOTION_TOKEN": "ntn_none"}
    ),
    "slack": Member(
        "@modelcontextprotocol/server-slack/dist/index.js",
        "slack_list_channels",
        env={"SLACK_BOT_TOKEN": "xoxb-none", "SLACK_TEAM_ID": "T0"},
    ),
    "tavily": Member(
        "tavily-mcp/build/index.js", "tavily_search", {"query": "mcp"}, env={"TAVILY_API_KEY": "none"}
    ),
}

# The servers of tests/real join them.
REAL_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "everything": ("echo", {"message": "x"}),
    "filesystem": ("list_allowed_directories", {}),
    "git": ("git_status", {"repo_path": "/nowhere"}),
    "memory": ("read_graph", {}),
    "sequential-thinking": (
        "sequentialthinking",
        {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
    ),
    "time": ("get_current_time", {"timezone": "UTC"}),
}

CALLS = REAL_CALLS | {name: (member.call, member.arguments) for name, member in MEMBERS.items()}


def servers(world: World) -> dict[str, dict[str, Any]]:
    """All of them, as `mcpServers`; each carries a mark of its own in its environment."""
    entries = world.servers() | {name: member.entry(world.mark) for name, member in MEMBERS.items()}
    for name, started in entries.items():
        started["env"][MARK] = mark_of(world, name)
    return entries


def mark_of(world: World, name: str) -> str:
    """The mark of the processes of one server."""
    return f"{world.mark}-{name}"
