"""Calls that `search` returns can be executed unchanged."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from gateway import Gateway

# Query, server and tool, arguments that work anywhere, and what the value must hold.
FOUND: list[tuple[str, str, str, dict[str, Any], Callable[[Any], bool]]] = [
    (
        "list directories the filesystem server may access",
        "filesystem",
        "list_allowed_directories",
        {},
        lambda value: "files" in value["content"],
    ),
    (
        "read the whole knowledge graph",
        "memory",
        "read_graph",
        {},
        lambda value: set(value) == {"entities", "relations"},
    ),
    ("add two numbers, get the sum", "everything", "get-sum", {"a": 2, "b": 40}, lambda value: "42" in value),
    (
        "think in steps, sequential thinking",
        "sequential-thinking",
        "sequentialthinking",
        {"thought": "one", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False},
        lambda value: value["thoughtNumber"] == 1,
    ),
    (
        "show the commits of a repository, git log",
        "git",
        "git_log",
        {},
        lambda value: "Commit history" in value,
    ),
    (
        "convert a time between timezones",
        "time",
        "convert_time",
        {"time": "12:00", "source_timezone": "UTC", "target_timezone": "Asia/Tokyo"},
        lambda value: value["time_difference"] == "+9.0h",
    ),
]


def call_expressions(found: str) -> list[str]:
    """The callable expressions of a search's text, best first."""
    return re.findall(r'^(tools(?:\.[\w$]+|\["[^"]+"\]){2})\(', found, re.MULTILINE)


@pytest.mark.parametrize(
    ("query", "server", "tool", "arguments", "holds"), FOUND, ids=[case[1] for case in FOUND]
)
def test_the_first_expression_found_runs_as_it_stands(
    gateway: Gateway,
    query: str,
    server: str,
    tool: str,
    arguments: dict[str, Any],
    holds: Callable[[Any], bool],
) -> None:
    if server == "git":
        repository = gateway.world.repository(f"found-{gateway.era}")
        repository.commit("a.txt", "a\n", "first")
        arguments = {"repo_path": str(repository.path)}

    expression = call_expressions(gateway.search(query))[0]

    assert tool in expression and server in expression
    assert holds(gateway.execute(f"return await {expression}(input);", input=arguments).value)


def test_queries_are_answered_one_by_one_and_a_server_narrows_them(gateway: Gateway) -> None:
    found = gateway.search("read a file", "current time", limit=6)
    assert "## read a file" in found and "## current time" in found
    assert "tools.filesystem.read_text_file" in found and "tools.time.get_current_time" in found

    narrowed = call_expressions(gateway.search("read", server="memory", limit=50))
    assert narrowed and all(expression.startswith("tools.memory.") for expression in narrowed)


def test_a_program_finds_the_same_expression_and_can_go_on_with_it(gateway: Gateway) -> None:
    found = gateway.execute(
        """
        const [hit] = await search("add two numbers, get the sum", { limit: 1 });
        const { inputSchema } = await describe(hit.server, hit.tool);
        const value = await tools[hit.server][hit.tool]({ a: 20, b: 22 });
        return { call: hit.call, required: inputSchema.required, value };
        """
    ).value

    assert found["call"] == 'tools.everything["get-sum"]'
    assert found["required"] == ["a", "b"]
    assert "42" in found["value"]


def test_a_query_that_fits_nothing_says_so(gateway: Gateway) -> None:
    assert "Nothing matches `zqxv wkjq`" in gateway.search("zqxv wkjq")
