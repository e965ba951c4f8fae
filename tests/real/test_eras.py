"""Instructions and tools that a client of either protocol generation sees first."""

from typing import Any

from gateway import MODERN_REVISION, Gateway, serve_config
from world import World


def seen_by_a_client(world: World, era: str) -> dict[str, Any]:
    config = world.config(world.servers())
    with serve_config(world, era, config) as gateway:
        listed = gateway.tools()
        return {
            "revision": gateway.client.protocol_version,
            "server": gateway.client.server_info.name,
            "instructions": gateway.client.instructions,
            "tools": [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools],
        }


def test_both_eras_list_the_same_two_tools_and_the_server_is_limbeck(world: World) -> None:
    legacy = seen_by_a_client(world, "legacy")
    modern = seen_by_a_client(world, "modern")

    assert legacy["revision"] == "2025-11-25"
    assert modern["revision"] == MODERN_REVISION
    assert legacy["server"] == modern["server"] == "limbeck"
    assert [tool["name"] for tool in legacy["tools"]] == ["search", "execute"]
    assert legacy["tools"] == modern["tools"]
    assert legacy["instructions"] == modern["instructions"]


def test_the_instructions_name_every_configured_server_before_any_is_started(world: World) -> None:
    seen = seen_by_a_client(world, "legacy")

    assert "6 of 6 shown" in seen["instructions"]
    for server in world.servers():
        assert f"\n- {server}" in seen["instructions"]


def test_an_unknown_tool_of_ours_is_refused_by_name_and_the_connection_goes_on(gateway: Gateway) -> None:
    try:
        gateway.call("exceute", {"code": "return 1"})
    except Exception as error:
        refusal = str(error)
    else:
        raise AssertionError("a tool that does not exist was called")

    assert "exceute" in refusal and "execute" in refusal
    assert gateway.execute("return 1").value == 1
