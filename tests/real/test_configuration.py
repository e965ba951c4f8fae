"""Servers come from the files of existing clients, and nothing else leaks in."""

import json
from pathlib import Path
from typing import Any

from gateway import Gateway, serve
from world import MARK, World


def named(world: World, name: str) -> dict[str, Any]:
    """The reference server under a `NAME` of its own, to tell which entry was used."""
    server = world.only("everything")["everything"]
    return {**server, "env": {MARK: world.mark, "NAME": name}}


def environment_of(gateway: Gateway, server: str) -> dict[str, str]:
    """The whole environment that a server was started with, as it reports it."""
    code = 'return JSON.parse(await tools[input]["get-env"]());'
    return gateway.execute(code, input=server).value


def names(gateway: Gateway) -> set[str]:
    """The servers a program sees."""
    return set(gateway.execute("return (await servers()).map(({ name }) => name);").value)


def write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2))


def test_servers_of_the_projects_file_are_there_and_only_when_discovery_is_on(world: World) -> None:
    write(world.project / ".mcp.json", {"mcpServers": {"here": named(world, "project file")}})

    shown = json.loads(world.limbeck("trust", "--json").stdout)
    assert world.limbeck("trust", "here", "--hash", shown["servers"][0]["sha256"]).returncode == 0
    with serve(world, "legacy") as gateway:
        assert names(gateway) == {"here"}
        assert environment_of(gateway, "here")["NAME"] == "project file"
    with serve(world, "legacy", "--no-discover") as gateway:
        assert names(gateway) == set()


def test_servers_of_the_users_file_are_there_and_its_project_entry_wins(world: World) -> None:
    write(
        world.home / ".claude.json",
        {
            "numStartups": 7,
            "mcpServers": {"both": named(world, "top level"), "user": named(world, "top level")},
            "projects": {
                str(world.project): {"mcpServers": {"both": named(world, "project entry")}, "history": []},
                str(world.root / "elsewhere"): {"mcpServers": {"other": named(world, "other project")}},
            },
        },
    )

    with serve(world, "legacy") as gateway:
        assert names(gateway) == {"both", "user"}
        assert environment_of(gateway, "both")["NAME"] == "project entry"
        assert environment_of(gateway, "user")["NAME"] == "top level"


def test_a_variable_in_a_named_file_is_expanded_and_has_a_default(world: World) -> None:
    entry = named(world, "${WHO:-guest}")
    entry["env"] |= {"GREETING": "${HELLO:-hi} ${WHO:-guest}!", "TWICE": "${WHO:-a}${WHO:-b}"}
    config = world.config({"greeter": entry})
    options = ("--config", str(config), "--no-discover")

    with serve(world, "legacy", *options) as gateway:
        unset = environment_of(gateway, "greeter")
    with serve(world, "legacy", *options, WHO="Ada") as gateway:
        given = environment_of(gateway, "greeter")

    assert [unset[name] for name in ("NAME", "GREETING", "TWICE")] == ["guest", "hi guest!", "ab"]
    assert [given[name] for name in ("NAME", "GREETING", "TWICE")] == ["Ada", "hi Ada!", "AdaAda"]


def test_a_server_gets_the_variables_its_entry_names_and_no_other_secret(world: World) -> None:
    entry = named(world, "named")
    entry["env"]["TOKEN"] = "${GIVEN_TOKEN}"
    config = world.config({"greeter": entry})

    secrets = {"GIVEN_TOKEN": "given", "OTHER_TOKEN": "kept", "AWS_SECRET_ACCESS_KEY": "kept"}
    with serve(world, "legacy", "--config", str(config), "--no-discover", **secrets) as gateway:
        environment = environment_of(gateway, "greeter")

    assert environment["TOKEN"] == "given"
    assert "kept" not in environment.values()
    assert not {"GIVEN_TOKEN", "OTHER_TOKEN", "AWS_SECRET_ACCESS_KEY"} & environment.keys()


def test_a_named_file_wins_over_what_is_discovered(world: World) -> None:
    write(
        world.project / ".mcp.json",
        {"mcpServers": {"same": named(world, "discovered"), "extra": named(world, "discovered")}},
    )
    config = world.config({"same": named(world, "named file")})

    with serve(world, "legacy", "--config", str(config)) as gateway:
        # The other one waits for trust, so programs do not see it.
        assert names(gateway) == {"same"}
        assert environment_of(gateway, "same")["NAME"] == "named file"


def test_no_configuration_at_all_is_fine_and_says_so(world: World) -> None:
    with serve(world, "modern") as gateway:
        assert "No MCP servers are configured" in gateway.client.instructions
        assert gateway.execute("return 6 * 7;").value == 42
        assert "No MCP servers are configured" in gateway.search("anything")


def test_a_named_file_that_is_broken_ends_the_start_with_its_place(world: World) -> None:
    config = world.root / "broken.json"
    config.write_text('{\n  "mcpServers": {\n    "a": { "command": 5 }\n  }\n}\n')

    ran = world.limbeck("serve", "--config", str(config), "--no-discover")

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "broken.json:3:" in ran.stderr
