"""Skills: functions and programs that users keep, call in later programs, test and remove."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from client import LIMBECK, Client
from conftest import stub


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Client]) -> Client:
    return start(servers=("filesystem",))


def value(client: Client, code: str, **arguments: object) -> object:
    """What a program returns."""
    answer = client.call("execute", code=code, **arguments).json
    assert answer["status"] == "completed", answer
    return answer.get("value")


def error(client: Client, code: str, **arguments: object) -> dict[str, object]:
    """How a program failed."""
    answer = client.call("execute", code=code, **arguments).json
    assert answer["status"] == "failed", answer
    return answer["error"]


def cli(client: Client, *words: str, code: int = 0) -> str:
    """What a command prints in the home of a gateway."""
    environment = {"HOME": str(client.root), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LIMBECK_TRUST_PROJECT": "1"}
    done = subprocess.run([LIMBECK, *words], cwd=client.root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done.stdout


TYPESCRIPT = """
const PREFIX = 'size: ';
const label = (text: string) => PREFIX + text.length;
async function fileSize(path: string, { upper = false } = {}) {
  const text = `${await callMCPTool('filesystem', 'read_file', { path })}`;
  return upper ? label(text).toUpperCase() : label(text);
}
return await skills.save(fileSize, { description: 'Says how long a file is.' });
"""
PYTHON = '''
PREFIX = "size: "
def label(text):
    return PREFIX + str(len(text))
async def file_length(path: str, upper: bool = False) -> str:
    """Says how long a text file is."""
    text = await call_mcp_tool("mcp__filesystem__read_file", {"path": path})
    return label(text).upper() if upper else label(text)
save_tool(file_length)
'''


def test_a_function_is_kept_with_its_helpers_and_called_in_later_programs(gateway: Client) -> None:
    saved = value(gateway, TYPESCRIPT)
    assert (saved["name"], saved["version"], saved["tools"]) == ("fileSize", 1, ["filesystem.read_file"]), saved
    for code in (
        "return [await skills.fileSize('/plain.txt'), await skills.fileSize('/plain.txt', { upper: true })]",
        "import { fileSize } from 'skills';\nreturn [await fileSize('/plain.txt'), await fileSize('/plain.txt', { upper: true })]",
    ):
        assert value(gateway, code) == ["size: 10", "SIZE: 10"]
    value(gateway, PYTHON, language="python")
    for code in (
        "[await skills.file_length('/plain.txt'), skills.file_length('/plain.txt', upper=True)]",
        "from skills import file_length\n[await file_length('/plain.txt'), await file_length('/plain.txt', True)]",
        "[await file_length('/plain.txt'), await file_length('/plain.txt', True)]",
    ):
        assert value(gateway, code, language="python") == ["size: 10", "SIZE: 10"], code


def test_a_search_finds_them(gateway: Client) -> None:
    text = gateway.call("search", queries=["how long is a file"]).text
    assert "skills.fileSize(path: string, { upper = false } = {})" in text and "skills.file_length(path: str" in text, text
    listed = json.loads(cli(gateway, "skills", "--json"))["skills"]
    assert [(one["name"], one["language"], one["version"], one["writes"]) for one in listed] == [
        ("fileSize", "typescript", 1, True),
        ("file_length", "python", 1, True),
    ]
    assert listed[0]["tools"][0]["tool"] == "read_file" and listed[0]["execution_id"].startswith("ex_")


def test_unknown_names_and_other_languages_have_a_next_step(gateway: Client) -> None:
    wrong = error(gateway, "return await skills.fileSizes('/plain.txt')")
    assert wrong["message"].endswith("there is no skill `fileSizes`") and "`skills.fileSize`" in wrong["hint"], wrong
    wrong = error(gateway, "return await skills.file_length('/plain.txt')")
    assert "is written in Python" in wrong["message"], wrong
    wrong = error(gateway, "const rows = await tools.filesystem.read_file({ path: '/plain.txt' });\nconst f = () => rows.length;\nreturn skills.save(f)")
    assert "`rows`" in wrong["message"] and "helpers" in wrong["hint"], wrong


def test_parallel_saves_lose_nothing_and_versions_are_compared(gateway: Client) -> None:
    codes = [f"def par_{i}():\n    return {i}\nsave_tool(par_{i})" for i in range(10)]
    threads = [threading.Thread(target=value, args=(gateway, code), kwargs={"language": "python"}) for code in codes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = ", ".join(f"skills.par_{i}()" for i in range(10))
    assert value(gateway, f"[{calls}]", language="python") == list(range(10))
    # Of two that start from one version, one gets an error.
    save = "def counted():\n    return {n}\nskills.save(counted, if_version={of})['version']"
    assert value(gateway, save.format(n=1, of=0), language="python") == 1
    assert value(gateway, save.format(n=2, of=1), language="python") == 2
    late = error(gateway, save.format(n=3, of=1), language="python")
    assert "is at version 2, not 1" in late["message"], late
    assert value(gateway, "skills.counted()", language="python") == 2
    # The same again is no new version.
    again = "def counted():\n    return 2\nskills.save(counted)['version']"
    assert value(gateway, again, language="python") == 2


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "const text = `${await callMCPTool('filesystem', 'read_file', { path: input.path })}`; return { length: text.length, of: input.path };"),
        ("python", "text = await call_mcp_tool('mcp__filesystem__read_file', {'path': input['path']})\nreturn {'length': len(text), 'of': input['path']}"),
    ],
)
def test_the_program_of_an_execution_becomes_a_skill(gateway: Client, language: str, code: str) -> None:
    ran = gateway.call("execute", code=code, language=language, input={"path": "/plain.txt"}).json
    name = f"measure_{language}"
    cli(gateway, "skills", "save", name, ran["execution_id"], "--description", "Measures a file.")
    shown = json.loads(cli(gateway, "skills", name, "--json"))
    assert shown["form"] == "program" and shown["source"] == code and "path" in shown["signature"], shown
    called = f"await skills.{name}({{'path': './package.json'}})"
    result = value(gateway, f"return {called}", language=language)
    assert result["of"] == "./package.json" and result["length"] > 10, result
    tested = json.loads(cli(gateway, "skills", "test", name, "--json"))
    assert tested["ok"] and tested["skills"][0]["run"]["identical"] is True, tested


def test_a_run_with_skills_is_replayed(gateway: Client) -> None:
    ran = gateway.call("execute", code="return await skills.fileSize('/plain.txt')").json
    replayed = json.loads(cli(gateway, "replay", ran["execution_id"], "--json"))
    assert replayed["identical"] and replayed["envelope"]["value"] == "size: 10", replayed


def test_after_a_tool_changed_the_test_says_which_break(start: Callable[..., Client]) -> None:
    client = start(servers=("filesystem",))
    value(client, TYPESCRIPT)
    value(client, "async def plain():\n    return 1\nsave_tool(plain)", language="python")
    assert json.loads(cli(client, "skills", "test", "--json"))["ok"]
    client.close()
    # The server of the same name has other tools now.
    (client.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"filesystem": stub("own")}}))
    tested = json.loads(cli(client, "skills", "test", "--json", code=1))
    assert {one["name"]: one["ok"] for one in tested["skills"]} == {"fileSize": False, "plain": True}, tested
    broken = tested["skills"][0]
    assert broken["tools"] == [{"server": "filesystem", "tool": "read_file", "state": "missing"}], broken
    assert "read_file" in broken["errors"][0]["message"], broken


def test_a_skill_that_writes_waits_for_a_person_where_the_policy_asks(start: Callable[..., Client]) -> None:
    client = start(servers=("filesystem",))
    config = client.root / ".config/limbeck/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[policy]\npreset = "strict"\n')
    client.close()
    save = "async function put(path) { return callMCPTool('filesystem', 'write_file', { path, content: 'x' }); }\nreturn skills.save(put);"
    (client.root / "save.ts").write_text(save)
    saved = json.loads(cli(client, "run", "--json", "save.ts"))["value"]
    assert saved["waits_for_a_person"] is True, saved
    (client.root / "call.ts").write_text("return typeof (await skills.list()) + (await skills.put('/a').catch((e) => e.code));")
    assert json.loads(cli(client, "run", "--json", "call.ts"))["value"] == "objectdenied"
    cli(client, "skills", "accept", "put")
    assert json.loads(cli(client, "skills", "put", "--json"))["state"] == "kept"


def test_they_are_exported_and_removed(gateway: Client) -> None:
    cli(gateway, "skills", "export", "-o", "kept")
    assert "function fileSize" in (gateway.root / "kept/fileSize.ts").read_text()
    compile((gateway.root / "kept/file_length.py").read_text(), "file_length.py", "exec")
    cli(gateway, "skills", "remove", "fileSize")
    assert "fileSize" not in cli(gateway, "skills")
    assert "there is no skill" in error(gateway, "return await skills.fileSize('/plain.txt')")["message"]


def test_files_of_the_workspace_outlive_a_run_in_both_languages(gateway: Client) -> None:
    value(gateway, "await workspace.write('notes/a.txt', 'from ts'); await workspace.write('/workspace/b.bin', new Uint8Array([0, 255]));")
    python = "open('/projects/c.txt', 'w').write('from py')\n[open('/projects/notes/a.txt').read(), list(workspace.read_bytes('b.bin'))]"
    assert value(gateway, python, language="python") == ["from ts", [0, 255]]
    listed = "return [(await workspace.list()).map((file) => file.path), await workspace.read('c.txt'), await workspace.remove('b.bin')]"
    ran = gateway.call("execute", code=listed).json
    assert ran["value"] == [["b.bin", "c.txt", "notes/a.txt"], "from py", True], ran
    assert json.loads(cli(gateway, "replay", ran["execution_id"], "--json"))["identical"]
    wrong = error(gateway, "return await workspace.read('../x')")
    assert "no path in the workspace" in wrong["message"], wrong
