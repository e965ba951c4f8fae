"""Generated wrappers: files that import, type-check and run outside of the sandbox, against the user's own servers."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from client import REPOSITORY, Client
from test_skills import cli

TSC = REPOSITORY / ".tools/node/node_modules/typescript/bin/tsc"


@pytest.fixture(scope="module")
def written(start: Callable[..., Client]) -> Client:
    """A home with wrappers of a plain server and of one with odd names."""
    client = start(servers={"filesystem": "filesystem", "Notion-Workspace": "odd"})
    client.close()
    manifest = json.loads(cli(client, "sync-wrappers", "--json"))
    assert manifest["version"] == "1.0.0"
    assert {(one["mcpName"], one["language"], one["status"]) for one in manifest["wrappers"]} == {
        (name, language, "success") for name in ("filesystem", "Notion-Workspace") for language in ("typescript", "python")
    }
    return client


def wrappers(client: Client) -> Path:
    return client.root / ".code-executor/wrappers"


def test_the_manifest_and_the_files_have_their_names(written: Client) -> None:
    names = sorted(str(path.relative_to(wrappers(written))) for path in wrappers(written).rglob("*.*"))
    assert names == [
        "python/mcp_filesystem.py", "python/mcp_notion_workspace.py", "typescript/mcp-Notion-Workspace.ts", "typescript/mcp-filesystem.ts",
    ]  # fmt: skip
    manifest = json.loads((written.root / ".code-executor/wrapper-manifest.json").read_text())
    entry = next(one for one in manifest["wrappers"] if one["language"] == "python")
    assert set(entry) == {"mcpName", "language", "schemaHash", "outputPath", "generatedAt", "status"}
    assert Path(entry["outputPath"]).is_file() and len(entry["schemaHash"]) == 64
    # The same servers give the same files, and files that exist can be left as they are.
    file = wrappers(written) / "python/mcp_filesystem.py"
    text = file.read_text()
    file.write_text("# mine\n")
    cli(written, "sync-wrappers", "--missing")
    assert file.read_text() == "# mine\n"
    cli(written, "sync-wrappers")
    assert file.read_text() == text


def test_python_files_run(written: Client) -> None:
    program = """
import asyncio
from mcp_filesystem import FilesystemClient, fail, read_file
from mcp_notion_workspace import NotionWorkspaceClient

async def main():
    found = await read_file(path="./package.json")
    plain = await FilesystemClient().read_file("/plain.txt")
    odd = NotionWorkspaceClient()
    try:
        failed = await fail()
    except RuntimeError as error:
        failed = str(error)
    print([found["name"], plain, failed, await odd.import_(), await odd.a_b_2(), await odd.mixed()])

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=wrappers(written) / "python", capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "HOME": str(written.root), "LIMBECK_TRUST_PROJECT": "1"}
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['demo', 'plain text', 'it broke', 'it was import', 'it was a-b', {'n': 7}]"


def test_typescript_files_type_check_and_run(written: Client, tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node is not None and TSC.is_file(), "cargo xtask test installs what this needs"
    for file in (wrappers(written) / "typescript").iterdir():
        shutil.copy(file, tmp_path)
    # The part of Node's own types that the files use.
    (tmp_path / "node.d.ts").write_text(
        'declare module "node:child_process" { export function spawn(program: string, words: string[], options: object): any; }\n'
        "declare const process: { env: Record<string, string | undefined> };\n"
    )
    main = """
import { filesystem, filesystem_readFile } from './mcp-filesystem.js';
import { notionWorkspace } from './mcp-Notion-Workspace.js';
const found = await filesystem.readFile({ path: './package.json' }) as { name: string };
const plain = await filesystem_readFile({ path: '/plain.txt' });
const failed = await filesystem.fail({}).catch((error: Error) => error.message);
// @ts-expect-error the argument is missing
const typed = () => filesystem.readFile({});
console.log(JSON.stringify([found.name, plain, failed, await notionWorkspace.mixed({}), typeof typed]));
"""
    (tmp_path / "main.ts").write_text(main)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "out", "--lib", "es2022,dom"]
    checked = subprocess.run([node, TSC, *options, "main.ts", "node.d.ts"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(written.root), "LIMBECK_TRUST_PROJECT": "1"}
    (tmp_path / "out/package.json").write_text('{"type": "module"}')
    done = subprocess.run([node, "out/main.js"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == ["demo", "plain text", "it broke", {"n": 7}, "function"], done.stderr


def test_committed_declarations_are_checked(written: Client) -> None:
    for language, file in (("ts", "limbeck.d.ts"), ("py", "limbeck_types/filesystem.pyi")):
        cli(written, "types", "--language", language, "-o", "typings")
        cli(written, "types", "--language", language, "-o", "typings", "--check")
        path = written.root / "typings" / file
        path.write_text(path.read_text() + "# old\n")
        cli(written, "types", "--language", language, "-o", "typings", "--check", code=1)
        assert path.read_text().endswith("# old\n")
