"""Users of mcp-server-code-execution-mode: `run_python` and the resource with its helpers."""

import json
from collections.abc import Callable

import pytest

from client import Client

URI = "resource://mcp-server-code-execution-mode/capabilities"


@pytest.fixture(scope="module")
def s2(start: Callable[..., Client]) -> Client:
    """A gateway in an environment with that system's durations and sizes."""
    return start(MCP_BRIDGE_TIMEOUT="60s", MCP_BRIDGE_MEMORY="1g", servers=("filesystem", "many"))


def test_29_durations_and_sizes_with_units_are_accepted(s2: Client) -> None:
    tools = s2.tools()
    assert list(tools) == ["run_python"]
    schema = tools["run_python"]["inputSchema"]
    assert (schema["required"], set(schema["properties"])) == (["code"], {"code", "servers", "timeout"})


def test_30_every_way_to_call_a_tool_gives_the_same(s2: Client) -> None:
    code = """
a = await mcp_filesystem.read_file(path='./package.json')
b = await mcp_servers['filesystem'].read_file(path='./package.json')
from mcp.servers.filesystem import *
c = await read_file(path='./package.json')
d = await runtime.call_tool('filesystem', 'read_file', {'path': './package.json'})
print(all(x['content'][0]['text'] == a['content'][0]['text'] for x in (b, c, d)))
print(a.name)
"""
    result = s2.call("run_python", code=code, servers=["filesystem"])
    assert (result.text, result.is_error) == ("True\ndemo", False)
    assert result.structured == {"servers": ["filesystem"], "stdout": ["True", "demo"]}


def test_31_runtime_is_there_without_an_import_and_its_twins_agree(s2: Client) -> None:
    code = """
print(sorted(runtime.discovered_servers()) == sorted(await runtime.list_servers()))
print(len(await runtime.list_tools('many')), len(runtime.list_tools_sync('many')))
docs = await runtime.search_tool_docs('read file', limit=3)
print(docs[0]['tool'], runtime.search_tool_docs_sync('read file', limit=3)[0]['tool'])
print(len(runtime.capability_summary()) > 50)
"""
    assert s2.call("run_python", code=code).text == "True\n300 300\nread_file read_file\nTrue"


def test_32_names_have_the_aliases_they_had(start: Callable[..., Client]) -> None:
    s2 = start("--compat", "s2", servers={"1mcp": "odd"})
    calls = ["get_weird_name", "import_", "a_b", "a_b_2"]
    code = "".join(f"print((await mcp__1mcp.{name}())['content'][0]['text'])\n" for name in calls)
    code += "from mcp.servers._1mcp import *\nprint((await a_b_2())['content'][0]['text'])\n"
    result = s2.call("run_python", code=code, servers=["1mcp"])
    texts = ["it was Get-Weird.name", "it was import", "it was a.b", "it was a-b", "it was a-b"]
    assert not result.is_error, result.text
    assert result.structured["stdout"] == texts, result.text


def test_33_a_result_of_five_megabytes_survives(s2: Client) -> None:
    code = """
result = await mcp_filesystem.large(chars=5_000_000)
print(len(result['content'][0]['text']))
print('after')
"""
    assert s2.call("run_python", code=code).text == "5000000\nafter"


def test_34_three_hundred_tools_are_loaded_in_one_call(s2: Client) -> None:
    code = "print(len(await runtime.query_tool_docs('many', detail='full')))"
    assert s2.call("run_python", code=code, servers=["many"]).text == "300"


def test_35_gathered_calls_run_at_once(s2: Client) -> None:
    code = """
import asyncio, time
started = time.monotonic()
await asyncio.gather(*(mcp_filesystem.wait(ms=300) for _ in range(10)))
print(time.monotonic() - started < 2)
"""
    assert s2.call("run_python", code=code).text == "True"


def test_36_a_saved_function_is_there_in_the_next_run(s2: Client) -> None:
    saved = s2.call("run_python", code="def twice(n):\n    return 2 * n\nsave_tool(twice)")
    assert not saved.is_error, saved.text
    assert s2.call("run_python", code="print(twice(21))").text == "42"


def test_37_a_timeout_is_named_and_its_number_is_in_seconds(s2: Client) -> None:
    late = s2.call("run_python", code="print('before')\nwhile True: pass", timeout=1)
    assert late.is_error
    assert late.structured["status"] == "timeout"
    assert late.structured["timeoutSeconds"] == 1
    assert late.structured["error"] == "Execution timed out after 1s"
    assert late.structured["stdout"] == ["before"]
    # A number above the maximum is the maximum.
    assert s2.call("run_python", code="print(1)", timeout=500).text == "1"


def test_38_compact_results_have_their_fields(s2: Client) -> None:
    nothing = s2.call("run_python", code="x = 1")
    assert (nothing.text, nothing.structured) == ("Success (no output)", {"summary": "Success (no output)"})
    failed = s2.call("run_python", code="print('a')\n1/0")
    assert failed.is_error and failed.structured["exitCode"] == 1
    assert failed.text.startswith("status: error\nexit: 1\na\nstderr:\nTraceback")
    assert "ZeroDivisionError: division by zero" in failed.text
    assert s2.call("run_python", code="import sys\nsys.exit(3)").structured["exitCode"] == 3
    assert not s2.call("run_python", code="exit()").is_error
    blank = s2.call("run_python", code=" \n")
    assert blank.is_error and blank.structured["status"] == "validation_error"
    unknown = s2.call("run_python", code="print(1)", servers=["nope"])
    assert unknown.is_error and unknown.structured["error"] == "Unknown MCP server: nope"
    lines = s2.call("run_python", code="print('a')\nprint()\nprint('b')")
    assert lines.structured["stdout"] == ["a", "", "b"]


def test_38_toon_results_have_the_whole_payload(start: Callable[..., Client]) -> None:
    toon = start(MCP_BRIDGE_OUTPUT_MODE="toon", servers=())
    result = toon.call("run_python", code="print('a')")
    assert result.text.startswith("```toon\nstatus: success\n")
    assert result.structured == {"status": "success", "summary": "Success", "exitCode": 0, "stdout": ["a"]}


def test_39_its_folder_is_read_and_its_own_entry_is_not_started(start: Callable[..., Client]) -> None:
    s2 = start("--compat", "s2", file="MCPs/files.json")
    # By its name, by its command and by an argument.
    own = {
        "mcp-server-code-execution-mode": {"command": "touch", "args": ["started-1"]},
        "by-command": {"command": "mcp-server-code-execution-mode", "args": ["run"]},
        "by-argument": {"command": "uvx", "args": ["--from", "git+https://x/y", "mcp-server-code-execution-mode", "run"]},
    }
    (s2.root / "MCPs/own.json").write_text(json.dumps({"mcpServers": own}))
    code = "print(await runtime.discovered_servers())"
    assert s2.call("run_python", code=code).structured["stdout"] == ["('filesystem',)"]
    called = s2.call("run_python", code="print((await mcp_filesystem.read_file(path='/plain.txt')))", servers=["filesystem"])
    assert "plain text" in called.text


def test_40_the_resource_is_listed_and_read_and_an_unknown_one_is_an_invalid_parameter(s2: Client) -> None:
    listed = {resource["uri"]: resource for resource in s2.ask("resources/list", {})["resources"]}
    assert listed[URI]["name"] == "code-execution-capabilities"
    assert listed[URI]["mimeType"] == "text/markdown"
    [content] = s2.ask("resources/read", {"uri": URI})["contents"]
    assert content["mimeType"] == "text/markdown" and "runtime" in content["text"]
    assert s2.error("resources/read", {"uri": "resource://nope"})["code"] == -32602


def test_its_variables_choose_times_and_the_folder(start: Callable[..., Client]) -> None:
    s2 = start(file="elsewhere/files.json", MCP_BRIDGE_STATE_DIR="elsewhere", MCP_BRIDGE_TIMEOUT="1s", MCP_BRIDGE_MAX_TIMEOUT="2", MCP_BRIDGE_LOG_LEVEL="ERROR")
    for arguments, seconds in (({}, 1), ({"timeout": 90}, 2)):
        ended = s2.call("run_python", code="while True: pass", **arguments)
        assert f"Execution timed out after {seconds}s" in ended.text, ended.raw
    assert "filesystem" in s2.call("run_python", code="print(runtime.discovered_servers())").text


def test_a_container_runtime_that_is_asked_for_is_not_ignored(start: Callable[..., Client]) -> None:
    s2 = start(MCP_BRIDGE_RUNTIME="podman")
    refused = s2.call("run_python", code="print(1)")
    assert refused.is_error and "MCP_BRIDGE_RUNTIME" in refused.text, refused.raw
