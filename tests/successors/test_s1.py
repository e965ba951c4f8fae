"""Users of the code-executor of claude-customizations: `execute_code` and three tools about servers."""

import os
import signal
from collections.abc import Callable

import pytest

from client import Client, until


@pytest.fixture(scope="module")
def s1(start: Callable[..., Client]) -> Client:
    """A gateway with three servers."""
    return start("--compat", "s1", servers=("filesystem", "many", "supabase"))


def test_21_the_four_tools_have_their_parameters(s1: Client) -> None:
    tools = s1.tools()
    assert list(tools) == ["execute_code", "search_tools", "get_tool_signature", "list_servers"]
    parameters = {name: tool["inputSchema"]["properties"] for name, tool in tools.items()}
    timeout = {"type": "integer", "minimum": 1000, "maximum": 300000, "default": 30000}
    assert parameters["execute_code"]["timeout_ms"] == timeout
    search = parameters["search_tools"]
    assert (search["detail"]["enum"], search["detail"]["default"]) == (["minimal", "standard", "full"], "standard")
    assert search["limit"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
    assert set(parameters["get_tool_signature"]) == {"server", "tool"}
    assert parameters["list_servers"] == {}
    for tool in tools.values():
        assert "annotations" not in tool and "outputSchema" not in tool


def test_22_the_examples_run(s1: Client) -> None:
    basic = "const text = await callMCPTool('filesystem', 'read_file', { path: './package.json' }); return text.name;"
    assert s1.call("execute_code", code=basic).json["result"] == "demo"
    schema = "const schema = await getToolSchema('filesystem', 'read_file'); console.log(Object.keys(schema.inputSchema.properties));"
    assert s1.call("execute_code", code=schema).json["success"] is True
    both = """
        const [a, b] = await Promise.all(['/plain.txt', './package.json'].map((path) => callMCPTool('filesystem', 'read_file', { path })));
        return { a, b: b.version };
    """
    assert s1.call("execute_code", code=both).json["result"] == {"a": "plain text", "b": "1.0.0"}


def test_22_the_gateway_called_as_a_server_is_answered_within_the_program(s1: Client) -> None:
    code = """
        const found = await callMCPTool('code-executor', 'search_tools', { query: 'supabase execute sql', limit: 3 });
        const { signature } = await callMCPTool('code-executor', 'get_tool_signature', { server: 'filesystem', tool: 'read_file' });
        const { servers, totalTools } = await callMCPTool('mcp__code-executor__list_servers', {});
        return [found.tools[0].tool, found.query, signature.includes('path: string'), servers.length, typeof totalTools];
    """
    assert s1.call("execute_code", code=code).json["result"] == ["execute_sql", "supabase execute sql", True, 3, "number"]
    # The control: no other name is a server.
    wrong = s1.call("execute_code", code="return callMCPTool('code-executors', 'search_tools', { query: 'a' })").json
    assert not wrong["success"] and "code-executors" in wrong["error"], wrong


def test_23_only_named_servers_are_connected_and_others_when_they_are_needed(start: Callable[..., Client]) -> None:
    kinds = {"filesystem": "filesystem", "files": "filesystem", "supabase": "supabase", "off": "own", "idle": "own"}
    s1 = start(servers=kinds, disabled=("off",), CONNECTED_SERVERS="filesystem,files,unknown")
    code = "const all = await listServers(); return { up: all.connected.map((one) => one.name).sort(), rest: all.available.sort() };"
    expected = {"up": ["files", "filesystem"], "rest": ["files", "filesystem", "idle", "off", "supabase"]}
    # They are connected beside the first requests, and no other is.
    until(lambda: s1.call("execute_code", code=code).json["result"] == expected)
    listed = s1.call("list_servers").json
    connected = [server["name"] for server in listed["servers"] if server["status"] == "connected"]
    assert (connected, listed["available"]) == (["files", "filesystem"], ["idle", "off", "supabase"])
    found = s1.call("search_tools", query="supabase execute sql").json
    assert (found["tools"][0]["tool"], found["lazyLoaded"]) == ("execute_sql", ["supabase"])
    assert "lazyLoaded" not in s1.call("search_tools", query="supabase execute sql").json
    # A disabled server is there for who asks.
    assert s1.call("execute_code", code="return callMCPTool('off', 'process')").json["success"]


def test_24_parallel_first_calls_succeed_and_a_search_finds_the_tool(start: Callable[..., Client]) -> None:
    lazy = start("--compat", "s1", servers=("supabase",))
    code = "return callMCPTool('supabase', 'execute_sql', { query: 'select 1' })"
    numbers = [lazy.start("execute_code", code=code) for _ in range(3)]
    for number in numbers:
        assert '"success": true' in lazy.answer(number)["result"]["content"][0]["text"]
    found = lazy.call("search_tools", query="execute sql").json
    assert found["tools"][0]["tool"] == "execute_sql"
    # It is connected already.
    assert "lazyLoaded" not in lazy.call("search_tools", query="supabase execute sql").json


def test_25_results_are_values_absent_or_errors(s1: Client) -> None:
    body = s1.call("execute_code", code="return { a: 1 }").json
    assert (body["success"], body["result"], "error" in body) == (True, {"a": 1}, False)
    assert "result" not in s1.call("execute_code", code="const x = 1;").json
    thrown = s1.call("execute_code", code="throw new Error('boom')")
    assert (thrown.json["success"], thrown.json["error"], thrown.is_error) == (False, "boom", True)
    cycle = s1.call("execute_code", code="const a = {}; a.a = a; return a;").json
    assert cycle["success"] is False and "cycle" in cycle["error"]
    big = s1.call("execute_code", code="return { n: 10n }").json
    assert big["success"] is False and "BigInt" in big["error"]


def test_26_typescript_is_accepted_and_arrays_are_arrays(s1: Client) -> None:
    code = "const xs: number[] = [1]; return [xs instanceof Array, [] instanceof Array];"
    assert s1.call("execute_code", code=code).json["result"] == [True, True]


def test_28_a_server_that_was_killed_is_started_again(start: Callable[..., Client]) -> None:
    s1 = start("--compat", "s1", servers=("own",))
    code = "return callMCPTool('own', 'process')"
    first = s1.call("execute_code", code=code).json["result"]
    assert s1.call("execute_code", code=code).json["result"] == first
    os.kill(int(first), signal.SIGKILL)
    second = s1.call("execute_code", code=code).json
    assert second["success"] and int(second["result"]) != int(first), second


def test_logs_and_limits_have_their_form(s1: Client) -> None:
    body = s1.call("execute_code", code="console.log('one'); console.error('two'); return 1").json
    assert body["logs"] == ["one", "[ERROR] two"]
    assert isinstance(body["execution_ms"], int)
    late = s1.call("execute_code", code="while (true) {}", timeout_ms=1000).json
    assert late["error"] == "Execution timed out after 1000ms"
    wrong = s1.call("execute_code", code="1", timeout_ms=10)
    assert wrong.is_error and wrong.text.startswith("MCP error -32602")


def test_search_tools_has_every_field_in_each_detail(s1: Client) -> None:
    found = s1.call("search_tools", query="read file").json
    assert set(found) >= {"tools", "total", "query"}
    first = found["tools"][0]
    assert (first["server"], first["tool"]) == ("filesystem", "read_file")
    assert set(first) == {"server", "tool", "description", "score"}
    full = s1.call("search_tools", query="read file", detail="full", limit=1).json["tools"]
    assert len(full) == 1 and full[0]["inputSchema"]["required"] == ["path"]
    minimal = s1.call("search_tools", query="read file", detail="minimal").json["tools"][0]
    assert set(minimal) == {"server", "tool", "description"}
    many = s1.call("search_tools", query="list item of a thread", server="many", limit=100).json
    assert len(many["tools"]) == 100 and many["total"] >= 100
    assert {tool["server"] for tool in many["tools"]} == {"many"}


def test_signatures_and_servers(s1: Client) -> None:
    described = s1.call("get_tool_signature", server="filesystem", tool="write_file").json
    assert set(described) >= {"server", "tool", "signature", "description", "inputSchema"}
    assert "content" in described["signature"]
    unknown = s1.call("get_tool_signature", server="filesystem", tool="nope")
    assert unknown.text == "Error: Tool not found: filesystem/nope"
    listed = s1.call("list_servers").json
    servers = {server["name"]: server for server in listed["servers"]}
    assert servers["many"]["toolCount"] == 300 and len(servers["many"]["tools"]) == 300
    assert servers["filesystem"]["status"] == "connected"
    assert listed["totalTools"] == sum(server["toolCount"] for server in listed["servers"])
    assert listed["available"] == []


def test_the_variable_of_this_system_alone_lists_its_tools(start: Callable[..., Client]) -> None:
    client = start(servers=(), CONNECTED_SERVERS="a,b")
    assert "execute_code" in client.tools() and "execute" not in client.tools()
    assert "because `CONNECTED_SERVERS` is set" in client.log()
