"""What holds for every surface: choice, names, the gateway's own resources."""

import json
from collections.abc import Callable

import pytest

from client import Client

OWN = ["search", "execute"]


@pytest.fixture(scope="module")
def plain(start: Callable[..., Client]) -> Client:
    """A gateway without any sign of an earlier system."""
    return start()


def test_without_a_sign_the_own_tools_are_listed_and_every_alias_is_callable(plain: Client) -> None:
    assert list(plain.tools()) == OWN
    assert plain.call("executeTypescript", code="console.log(1)").output == "1\n"
    assert plain.call("executePython", code="print(1)").output == "1\n"
    assert plain.call("health").structured["healthy"] is True
    assert plain.call("execute_code", code="return 1").json["result"] == 1
    assert plain.call("search_tools", query="read file").json["tools"][0]["tool"] == "read_file"
    assert plain.call("get_tool_signature", server="filesystem", tool="echo").json["tool"] == "echo"
    assert plain.call("list_servers").json["servers"][0]["name"] == "filesystem"
    assert plain.call("run_python", code="print(1)").text == "1"


def test_execute_takes_the_argument_names_of_all_three(plain: Client) -> None:
    code = "return await tools.filesystem.echo({ value: 1 })"
    for arguments in ({"allowedTools": []}, {"servers": ["many"]}):
        refused = plain.call("execute", code=code, **arguments)
        assert refused.is_error and "filesystem.echo" in refused.text
    for arguments in ({"allowedTools": ["mcp__filesystem__*"]}, {"servers": ["filesystem"]}, {"timeoutMs": 5000}):
        assert not plain.call("execute", code=code, **arguments).is_error, arguments
    late = plain.call("execute", code="while (true) {}", timeout="1s")
    assert late.json["error"]["kind"] == "timeout"


@pytest.mark.parametrize(
    ("name", "right"),
    [("executeTypeScript", "executeTypescript"), ("run_code", "execute"), ("Search", "search")],
)
def test_a_wrong_tool_name_is_answered_with_the_right_one(plain: Client, name: str, right: str) -> None:
    error = plain.error("tools/call", {"name": name, "arguments": {}})
    assert error["code"] == -32602 and f"it is `{right}` here" in error["message"]


def test_surfaces_are_chosen_by_the_option_before_the_environment(start: Callable[..., Client]) -> None:
    none = start("--compat", "none", servers=(), MCP_BRIDGE_TIMEOUT="30")
    assert list(none.tools()) == OWN
    both = start("--compat", "s0,s2", servers=())
    assert list(both.tools()) == ["executeTypescript", "executePython", "health", "run_python"]


def test_variables_of_two_systems_choose_none_and_say_so(start: Callable[..., Client]) -> None:
    client = start(servers=(), MCP_BRIDGE_TIMEOUT="30", DENO_PATH="/usr/bin/deno")
    assert list(client.tools()) == OWN
    assert "`--compat s0`, `s1` or `s2`" in client.log()


def test_own_resources_describe_programs_servers_and_tools(plain: Client) -> None:
    listed = [resource["uri"] for resource in plain.ask("resources/list", {})["resources"]]
    assert listed == ["limbeck://guide", "limbeck://servers"]
    templates = plain.ask("resources/templates/list", {})["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["limbeck://tools/{server}/{tool}"]

    def read(uri: str) -> str:
        [content] = plain.ask("resources/read", {"uri": uri})["contents"]
        return content["text"]

    assert "Promise.all" in read("limbeck://guide")
    plain.call("list_servers")
    [server] = json.loads(read("limbeck://servers"))["servers"]
    assert (server["name"], server["state"]) == ("filesystem", "ready")
    assert "read_file" in server["tools"]
    tool = json.loads(read("limbeck://tools/filesystem/read%5Ffile"))
    assert tool["call"] == "tools.filesystem.read_file"
    assert tool["inputSchema"]["required"] == ["path"]
    unknown = plain.error("resources/read", {"uri": "limbeck://tools/filesystem/nope"})
    assert unknown["code"] == -32002


ODD = """
const texts = [];
for (const name of ['Get-Weird.name', 'Read/File', 'a.b']) texts.push(await tools.odd[name]());
const mixed = await tools.odd.mixed();
let thrown;
try { await tools.odd.fail() } catch (error) { thrown = [error.name, error.message] }
const returned = await callMCPTool('mcp__odd__fail', {});
return { texts, mixed, raw: (await tools.odd.mixed.raw()).content.length, thrown, returned };
"""


def test_42_odd_servers_behave(start: Callable[..., Client]) -> None:
    odd = start(servers=("odd", "many"))
    value = odd.call("execute", code=ODD).json["value"]
    assert value["texts"] == ["it was Get-Weird.name", "it was Read/File", "it was a.b"]
    assert (value["mixed"], value["raw"], value["returned"]) == ({"n": 7}, 2, "it broke")
    assert value["thrown"][1].endswith("it broke"), value["thrown"]
    # Three pages of tools.
    code = "return (await discoverMCPTools()).filter((tool) => tool.name.startsWith('mcp__many__')).length"
    assert odd.call("execute", code=code).json["value"] == 300
    # The next program knows what the server has from now on.
    odd.call("execute", code="return tools.odd.grow()")
    assert odd.call("execute", code="return tools.odd.grown()").json["value"] == "it was grown"
