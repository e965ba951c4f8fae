"""Users of code-executor-mcp: `executeTypescript`, `executePython` and `health`."""

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client import LIMBECK, Client
from provider import Provider

READ = "const text = await callMCPTool('mcp__filesystem__read_file', { path: '/plain.txt' }); console.log(text);"


@pytest.fixture(scope="module")
def s0(start: Callable[..., Client]) -> Client:
    """A gateway in the environment of that system's complete example."""
    return start(
        ENABLE_AUDIT_LOG="true",
        ALLOWED_PROJECTS="/tmp:/home",
        PYTHON_SANDBOX_READY="true",
        CODE_EXECUTOR_SAMPLING_ENABLED="false",
    )


def test_01_the_environment_alone_lists_its_tools(s0: Client) -> None:
    tools = s0.tools()
    assert list(tools) == ["executeTypescript", "executePython", "health"]
    for name in ("executeTypescript", "executePython"):
        tool = tools[name]
        assert tool["inputSchema"]["required"] == ["code"]
        assert tool["inputSchema"]["properties"]["timeoutMs"]["default"] == 30000
        assert "default" not in tool["inputSchema"]["properties"]["allowedTools"]
        hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True}
        assert tool["annotations"] == hints
        assert tool["outputSchema"]["properties"]["executionTimeMs"]["type"] == "number"
    assert tools["health"]["annotations"]["readOnlyHint"] is True
    assert "lists the tools of code-executor-mcp" in s0.log()


def test_02_the_quick_example_works_without_a_list_of_tools(s0: Client) -> None:
    result = s0.call("executeTypescript", code=READ)
    assert result.output == "plain text\n"
    assert result.structured["toolCallsMade"] == ["mcp__filesystem__read_file"]
    [summary] = result.structured["toolCallSummary"]
    assert (summary["toolName"], summary["callCount"]) == ("mcp__filesystem__read_file", 1)
    assert (summary["successCount"], summary["errorCount"], summary["lastCallStatus"]) == (1, 0, "success")
    sections = [line for line in result.text.splitlines() if line and not line.startswith(" ")]
    assert [section.split(":")[0] for section in sections] == ["Status", "Stdout", "Stderr", "Duration", "Tool Calls"]
    assert result.text.startswith("Status: SUCCESS\n\nStdout:\n  plain text\n\nStderr:\n  (none)\n")
    assert not result.is_error


def test_03_a_pattern_allows_a_server_and_a_call_outside_of_it_names_its_tool(s0: Client) -> None:
    outside = "try { await callMCPTool('mcp__filesystem__' + 'echo', {}) } catch (e) { console.log(e.message) }"
    result = s0.call("executeTypescript", code=READ + outside, allowedTools=["mcp__filesystem__read_*"])
    assert "mcp__filesystem__echo" in result.output, result.text
    assert result.structured["toolCallsMade"] == ["mcp__filesystem__read_file"]
    # The control.
    assert s0.call("executeTypescript", code=READ, allowedTools=["mcp__filesystem__*"]).output == "plain text\n"


def test_04_an_empty_list_allows_nothing(s0: Client) -> None:
    result = s0.call("executeTypescript", code=READ, allowedTools=[])
    assert result.is_error and result.structured["success"] is False
    assert "mcp__filesystem__read_file" in result.structured["error"]
    assert result.structured["toolCallsMade"] == []


def test_05_a_result_is_read_as_text_and_as_a_value(s0: Client) -> None:
    code = """
        const file = await callMCPTool('mcp__filesystem__read_file', { path: './package.json' });
        console.log(JSON.parse(file).name, file.name);
    """
    assert s0.call("executeTypescript", code=code).output == "demo demo\n"


def test_06_wrong_parameters_are_named(s0: Client) -> None:
    code = """
        const args = JSON.parse('{"path": "/x", "mode": "fats", "pth": 1}');
        try { await callMCPTool('mcp__filesystem__write_file', args) } catch (e) { console.log(e.message) }
    """
    output = s0.call("executeTypescript", code=code).output
    for part in ("content", "pth", "mode"):
        assert part in output, output


def test_07_a_ranked_search_among_three_hundred_tools(start: Callable[..., Client]) -> None:
    crowded = start("--compat", "s0", servers={"many": "many", "zz-files": "filesystem"})
    typescript = "const found = await searchTools('file read write', 5); console.log(found[0].name)"
    assert crowded.call("executeTypescript", code=typescript).output == "mcp__zz-files__read_file\n"
    python = "found = await search_tools('file read write', 5)\nprint(found[0]['name'])"
    assert crowded.call("executePython", code=python).output == "mcp__zz-files__read_file\n"


def test_08_fifty_discoveries_in_one_run_succeed(s0: Client) -> None:
    code = """
        const found = await Promise.all(Array.from({ length: 50 }, () => discoverMCPTools({ search: ['file'] })));
        console.log(found.length, found.every((tools) => tools.some((tool) => tool.name === 'mcp__filesystem__read_file')));
    """
    assert s0.call("executeTypescript", code=code).output == "50 true\n"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider of models."""
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def sampling(start: Callable[..., Client], provider: Provider) -> Client:
    """A gateway in the environment of a user who turned sampling on."""
    return start(
        "--compat", "s0", ANTHROPIC_API_KEY="sk-ant-1234567", ANTHROPIC_BASE_URL=provider.url,
        CODE_EXECUTOR_MAX_SAMPLING_ROUNDS="10",
    )  # fmt: skip


def test_09_models_are_asked_in_both_languages_and_never_beyond_the_quota(sampling: Client, provider: Provider) -> None:
    typescript = "console.log(await llm.ask('hello'))"
    result = sampling.call("executeTypescript", code=typescript, enableSampling=True, allowedTools=[])
    assert result.output == "HELLO\n", result.text
    path, headers, body = provider.requests[-1]
    assert (path, headers["x-api-key"], body["model"]) == ("/v1/messages", "sk-ant-1234567", "claude-haiku-4-5-20251001")
    [call] = result.structured["samplingCalls"]
    assert call["model"] == "claude-haiku-4-5-20251001"
    assert call["messages"] == [{"role": "user", "content": "hello"}]
    assert call["response"]["content"] == [{"type": "text", "text": "HELLO"}]
    assert call["response"]["usage"] == {"inputTokens": 10, "outputTokens": 5}
    assert call["tokensUsed"] == 15 and call["timestamp"].endswith("Z")
    metrics = result.structured["samplingMetrics"]
    assert (metrics["totalRounds"], metrics["totalTokens"], metrics["averageTokensPerRound"]) == (1, 15, 15)
    assert metrics["quotaRemaining"] == {"rounds": 9, "tokens": 9985}

    python = "print(await llm.ask('hello', system_prompt='You are a helpful assistant', max_tokens=50))"
    assert sampling.call("executePython", code=python, enableSampling=True).output == "HELLO\n"
    assert (provider.requests[-1][2]["system"], provider.requests[-1][2]["max_tokens"]) == ("You are a helpful assistant", 50)

    before = len(provider.requests)
    code = """
        const asked = Array.from({ length: 20 }, (_, i) => llm.ask(`q${i}`));
        const ended = await Promise.allSettled(asked);
        console.log(ended.filter(({ status }) => status === 'fulfilled').length);
    """
    result = sampling.call("executeTypescript", code=code, enableSampling=True, maxSamplingRounds=3)
    assert result.output == "3\n", result.text
    assert len(provider.requests) - before == 3
    assert result.structured["samplingMetrics"]["quotaRemaining"]["rounds"] == 0


def test_10_a_conversation_is_a_list_or_an_object(sampling: Client) -> None:
    code = """
        const messages = [{ role: 'user', content: 'one' }];
        console.log(await llm.think(messages), await llm.think({ messages }));
        for await (const piece of await llm.ask('two', { stream: true })) console.log(piece);
    """
    result = sampling.call("executeTypescript", code=code, enableSampling=True, maxSamplingTokens=100)
    assert result.output == "ONE ONE\nTWO\n", result.text
    python = "print(await llm.think([{'role': 'user', 'content': 'one'}], model=''))"
    assert sampling.call("executePython", code=python, enableSampling=True).output == "ONE\n"


def test_sampling_is_off_without_the_flag_and_the_lists_are_kept(sampling: Client, s0: Client, provider: Provider) -> None:
    asked = "try { console.log(await llm.ask('x', OPTIONS)) } catch (error) { console.log(error.message, error.hint) }"
    before = len(provider.requests)
    off = sampling.call("executeTypescript", code=asked.replace("OPTIONS", "{}"))
    assert "sampling is not enabled" in off.output and "enableSampling: true" in off.output
    assert "samplingCalls" not in off.structured
    # Neither a key nor a client that samples.
    unanswered = s0.call("executeTypescript", code=asked.replace("OPTIONS", "{}"), enableSampling=True)
    assert "no provider is configured" in unanswered.output, unanswered.text
    for options, problem in [
        ("{ systemPrompt: 'You are a pirate' }", "system prompt is not in the allowlist"),
        ("{ model: 'claude-opus-9' }", "model `claude-opus-9` is not in the allowlist"),
    ]:
        refused = sampling.call("executeTypescript", code=asked.replace("OPTIONS", options), enableSampling=True)
        assert problem in refused.output, refused.text
    assert len(provider.requests) == before
    # The controls: what the request itself names.
    terse = sampling.call(
        "executeTypescript", code="console.log(await llm.ask('x', { model: 'claude-x' }))", enableSampling=True,
        samplingSystemPrompt="Be terse", allowedSamplingModels=["claude-x"],
    )  # fmt: skip
    assert terse.output == "X\n", terse.text
    body = provider.requests[-1][2]
    assert (body["system"], body["model"]) == ("Be terse", "claude-x")
    # Answers are filtered, as they were.
    secret = sampling.call("executeTypescript", code="console.log(await llm.ask('ada@example.com'))", enableSampling=True)
    assert secret.output == "[REDACTED_PII]\n"


@pytest.mark.parametrize(
    ("name", "key", "path"),
    [
        ("openai", "OPENAI_API_KEY", "/v1/chat/completions"),
        ("gemini", "GEMINI_API_KEY", "/v1beta/models/gemini-2.5-flash-lite:streamGenerateContent?alt=sse"),
        ("grok", "GROK_API_KEY", "/v1/chat/completions"),
        ("perplexity", "PERPLEXITY_API_KEY", "/v1/chat/completions"),
    ],
)
def test_each_provider_of_the_variables_is_asked_in_its_format(
    start: Callable[..., Client], provider: Provider, name: str, key: str, path: str
) -> None:
    base = provider.url if name == "gemini" else f"{provider.url}/v1"
    named = {"CODE_EXECUTOR_AI_PROVIDER": name, "CODE_EXECUTOR_AI_BASE_URL": base, key: "the-key"}
    client = start("--compat", "s0", **named)
    result = client.call("executeTypescript", code="console.log(await llm.ask('hi'))", enableSampling=True)
    assert result.output == "HI\n", result.text
    asked, headers, _ = provider.requests[-1]
    assert asked == path
    assert "the-key" in headers.get("authorization", "") + headers.get("x-goog-api-key", "")


def test_11_python_runs_with_asyncio_run_and_without_await(s0: Client) -> None:
    code = """
import asyncio
async def main():
    text = await call_mcp_tool('mcp__filesystem__read_file', {'path': '/plain.txt'})
    print('in main:', text)
asyncio.run(main())
text = call_mcp_tool('mcp__filesystem__read_file', {'path': '/plain.txt'})
print('at top level:', text)
1 + 1
"""
    assert s0.call("executePython", code=code).output == "in main: plain text\nat top level: plain text\n2"


def test_12_an_endless_program_ends_and_health_answers_meanwhile(s0: Client) -> None:
    endless = s0.start("executePython", code="while True: pass", timeoutMs=1000)
    health = s0.call("health")
    assert health.structured["healthy"] is True
    assert health.json == health.structured
    assert set(health.structured) == {"healthy", "auditLog", "mcpClients", "connectionPool", "uptime", "timestamp"}
    assert set(health.structured["connectionPool"]) == {"active", "waiting", "max"}
    ended = s0.answer(endless)["result"]
    structured = ended["structuredContent"]
    assert structured["error"].startswith("Execution timeout after 1.00s"), structured
    assert structured["executionTimeMs"] >= 1000
    assert ended["content"][0]["text"].startswith("Status: TIMEOUT\n")


def test_13_runs_share_nothing(s0: Client) -> None:
    s0.call("executePython", code="left = 1")
    assert s0.call("executePython", code="print('left' in globals())").output == "False\n"
    numbers = {n: s0.start("executeTypescript", code=f"console.log({n}); console.log({n})") for n in range(4)}
    for n, number in numbers.items():
        assert s0.answer(number)["result"]["structuredContent"]["output"] == f"{n}\n{n}\n"


def test_14_the_machine_is_out_of_reach(s0: Client) -> None:
    code = """
        const names = ['process', 'Deno', 'require', 'fetch', 'WebSocket'];
        console.log(names.filter((name) => typeof globalThis[name] !== 'undefined').length);
    """
    assert s0.call("executeTypescript", code=code).output == "0\n"
    code = """
import os
print('PYTHON_SANDBOX_READY' in os.environ, os.path.exists('/etc/passwd'))
for attempt in (lambda: os.system('true'), lambda: __import__('js'), lambda: __import__('socket').create_connection(('127.0.0.1', 1))):
    try:
        attempt()
        print('reached')
    except BaseException:
        print('refused')
"""
    assert s0.call("executePython", code=code).output.split() == ["False", "False", "refused", "refused", "refused"]


def test_16_ordinary_code_is_no_dangerous_pattern(s0: Client) -> None:
    assert s0.call("executeTypescript", code="console.log(/a(b)/.exec('ab')![1])").output == "b\n"
    python = "import re\nprint(re.compile('a(b)').match('ab').group(1))"
    result = s0.call("executePython", code=python, skipDangerousPatternCheck=True)
    assert result.output == "b\n"


WRAPPED = "await {}({{ path: '/plain.txt' }})"


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("{ filesystem } from './mcp-wrappers'", "filesystem.readFile"),
        ("{ myFiles } from './mcp-wrappers'", "myFiles.readFile"),
        ("{ my_files } from './mcp-wrappers'", "my_files.read_file"),
        ("{ filesystem_readFile } from './wrappers/typescript/mcp-filesystem'", "filesystem_readFile"),
        ("{ myFiles_readFile as read } from './mcp-my-files.ts'", "read"),
        ("* as files from '/home/u/.code-executor/wrappers/typescript/mcp-my-files.ts'", "files.my_files_readFile"),
    ],
)
def test_17_wrappers_are_imported(wrapped: Client, imported: str, called: str) -> None:
    code = f"import {imported};\nconsole.log({WRAPPED.format(called)})"
    assert wrapped.call("executeTypescript", code=code).output == "plain text\n"


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from mcp_filesystem import FilesystemClient", "FilesystemClient().read_file"),
        ("from mcp_my_files import my_files_read_file", "my_files_read_file"),
        ("import mcp_my_files", "mcp_my_files.read_file"),
    ],
)
def test_17_wrappers_of_python_are_imported(wrapped: Client, imported: str, called: str) -> None:
    code = f"{imported}\nprint(await {called}(path='/plain.txt'))"
    assert wrapped.call("executePython", code=code).output == "plain text\n"


@pytest.fixture(scope="module")
def wrapped(start: Callable[..., Client]) -> Client:
    """A gateway with a server whose name has a hyphen."""
    return start("--compat", "s0", servers={"filesystem": "filesystem", "my-files": "filesystem"})


AUDITED = {
    "timestamp": str,
    "codeHash": str,
    "codeLength": int,
    "executor": str,
    "allowedTools": list,
    "toolsCalled": list,
    "executionTimeMs": int,
    "success": bool,
    "clientId": str,
    "memoryUsage": type(None),
}


def test_18_every_execution_has_a_line_in_the_audit_log(start: Callable[..., Client]) -> None:
    s0 = start("--compat", "s0", ENABLE_AUDIT_LOG="true", AUDIT_LOG_PATH="logs/audit.jsonl")
    assert s0.call("executeTypescript", code=READ, allowedTools=["mcp__filesystem__*"]).output
    assert s0.call("executePython", code="1/0").is_error
    assert s0.call("executeTypescript", code=READ, timeoutMs=1).is_error
    path = s0.root / "logs/audit.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    good, failed, refused = (json.loads(line) for line in path.read_text().splitlines())
    for line in (good, failed, refused):
        assert {name: isinstance(line.get(name), kind) for name, kind in AUDITED.items()} == dict.fromkeys(AUDITED, True)
    assert (good["executor"], good["success"], good["codeLength"]) == ("typescript", True, len(READ))
    assert good["codeHash"] == hashlib.sha256(READ.encode()).hexdigest()
    assert good["allowedTools"] == ["mcp__filesystem__*"]
    assert good["toolsCalled"] == ["mcp__filesystem__read_file"]
    assert "error" not in good
    assert (failed["executor"], failed["success"]) == ("python", False) and "ZeroDivisionError" in failed["error"]
    assert (refused["success"], refused["toolsCalled"]) == (False, []) and "timeoutMs" in refused["error"]


def test_19_the_old_names_can_be_called_although_they_are_not_listed(s0: Client) -> None:
    assert "run-typescript-code" not in s0.tools()
    assert s0.call("run-typescript-code", code="console.log(1)").output == "1\n"
    assert s0.call("run-python-code", code="print(1)").output == "1\n"


@pytest.mark.parametrize("end", ["", "throw new Error('boom')"])
def test_20_a_long_output_is_cut_with_a_notice_on_failure_too(s0: Client, end: str) -> None:
    code = f"console.log('x'.repeat(30000)); console.log('after'); {end}"
    result = s0.call("executeTypescript", code=code)
    output = result.structured["output"]
    assert 20_000 <= len(output) <= 25_000
    assert "[Output truncated: " in output and output.endswith("after\n")
    assert result.is_error == bool(end)


def test_errors_before_a_run_have_their_forms(s0: Client) -> None:
    empty = s0.call("executeTypescript", code="")
    assert empty.is_error and empty.text.startswith("MCP error -32602: Input validation error")
    late = s0.call("executeTypescript", code="1", timeoutMs=300_001)
    assert late.is_error and "structuredContent" not in late.raw
    assert (late.json["success"], late.json["output"], late.json["executionTimeMs"]) == (False, "", 0)
    assert late.json["error"].startswith("Input validation failed: ")
    name = s0.call("executeTypescript", code="1", allowedTools=[""])
    assert name.is_error and set(name.json) == {"error", "errorType", "suggestion"}


def test_failures_of_programs_have_status_and_place(s0: Client) -> None:
    thrown = s0.call("executeTypescript", code="console.log('before');\nthrow new Error('boom')")
    assert thrown.structured["output"] == "before\n"
    assert "Error: boom" in thrown.structured["error"] and "line 2" in thrown.structured["error"]
    assert thrown.text.startswith("Status: FAILURE\n")
    syntax = s0.call("executeTypescript", code="const x: = 3")
    assert syntax.is_error and "SyntaxError" in syntax.structured["error"]
    python = s0.call("executePython", code="1/0")
    assert "ZeroDivisionError: division by zero" in python.structured["error"]


def test_a_failed_tool_is_returned_as_its_text(s0: Client) -> None:
    code = "console.log(await callMCPTool('mcp__filesystem__fail', {}))"
    assert s0.call("executeTypescript", code=code).output == "it broke\n"


def test_a_destructive_call_asks_no_person(s0: Client) -> None:
    code = "console.log(await callMCPTool('mcp__filesystem__write_file', { path: '/a', content: 'b' }))"
    result = s0.call("executeTypescript", code=code)
    assert "'/a'" in result.output and result.structured["toolCallsMade"] == ["mcp__filesystem__write_file"]


def test_15_two_hundred_mixed_calls_leave_only_json_rpc_on_stdout(s0: Client) -> None:
    calls = [
        ("executeTypescript", {"code": "console.log('{\\'jsonrpc\\'}'); console.error('x')"}),
        ("executePython", {"code": "import sys\nprint('out')\nprint('err', file=sys.stderr)"}),
        ("executeTypescript", {"code": "const x: ="}),
        ("health", {}),
        ("executeTypescript", {"code": ""}),
    ]
    for _ in range(10):
        numbers = [s0.start(name, **arguments) for _ in range(4) for name, arguments in calls]
        assert all("result" in s0.answer(number) for number in numbers)
    assert s0.not_protocol == []


def test_settings_of_its_files_hold(start: Callable[..., Client], tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    security = {
        "allowedTools": ["mcp__filesystem__read_file"], "rateLimit": {"enabled": True, "maxRequests": 4}, "defaultTimeoutMs": 1000,
    }  # fmt: skip
    settings.write_text(json.dumps({"version": 1, "security": security, "executors": {"python": {"enabled": False}}}))
    s0 = start("--compat", "s0", CODE_EXECUTOR_CONFIG_PATH=str(settings))
    read = "console.log(`${await callMCPTool('mcp__filesystem__read_file', { path: '/plain.txt' })}`)"
    assert s0.call("executeTypescript", code=read).output == "plain text\n"
    other = s0.call("executeTypescript", code="await callMCPTool('mcp__filesystem__echo', {})")
    assert other.is_error and "filesystem" in other.text, other.raw
    refused = s0.call("executeTypescript", code=read, allowedTools=["mcp__filesystem__echo"]).json
    assert refused["error"] == "Tools not allowed by server policy: mcp__filesystem__echo", refused
    assert "turned off" in s0.call("executePython", code="print(1)").json["error"]
    endless = s0.call("executeTypescript", code="while (true) {}")
    assert endless.is_error and "timeout" in endless.text.lower(), endless.raw
    s0.call("executeTypescript", code=read)
    limited = s0.call("executeTypescript", code=read).json
    assert limited["error"].startswith("Rate limit exceeded: at most 4 requests per 60s; try again in "), limited


def test_a_wrong_variable_is_named_at_the_start(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "POOL_MAX_CONCURRENT": "many"}
    done = subprocess.run([LIMBECK, "serve"], cwd=tmp_path, env=environment, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "POOL_MAX_CONCURRENT" in done.stderr and done.stdout == "", done
