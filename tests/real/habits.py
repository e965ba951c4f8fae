"""Habits and mistakes of models: programs as they write them, and what an answer to each has to be.

Every program is sent once. `accepted` programs give their value. `warned` ones complete with a warning that says what was
made of them. `refused` ones fail with an error, and `says` are words of it that lead to a second try which works. `D` is the
directory of the files, `G` a git repository with three commits.
"""

from dataclasses import dataclass, field
from typing import Any

ANY = object()


@dataclass(frozen=True)
class Variant:
    """One program."""

    name: str
    code: str
    outcome: str
    value: Any = ANY
    says: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


def accepted(name: str, code: str, value: Any = ANY, **more: Any) -> Variant:
    return Variant(name, code, "accepted", value, more=more)


def warned(name: str, code: str, *says: str, value: Any = ANY, **more: Any) -> Variant:
    return Variant(name, code, "warned", value, says, more)


def refused(name: str, code: str, *says: str, **more: Any) -> Variant:
    return Variant(name, code, "refused", ANY, says, more)


def python(variant: Variant) -> Variant:
    return Variant(f"py {variant.name}", variant.code, variant.outcome, variant.value, variant.says, {"language": "python", **variant.more})


READ = 'tools.filesystem.read_text_file({ path: "D/n1" })'
PY_READ = 'tools.filesystem.read_text_file(path="D/n1")'
LOG = 'tools.git.git_log({ repo_path: "G", max_count: 2 })'
PY_LOG = 'tools.git.git_log(repo_path="G", max_count=2)'
NOW = 'tools.time.get_current_time({ timezone: "UTC" })'
PY_NOW = 'tools.time.get_current_time(timezone="UTC")'
ONE = {"content": "one"}
BOTH = [{"content": "one"}, {"content": "two"}]

SHAPES = [
    accepted("types in a body", f"interface R {{ content: string }}\nconst r: R = await {READ};\nreturn r.content as string;", "one"),
    accepted("satisfies, as const, generics", "const a = [1, 2] as const;\nconst f = <T,>(x: T): T => x;\nreturn f({ n: a[0] } satisfies { n: number });", {"n": 1}),
    accepted("class fields, private", "class A { #x = 2; y: number = 1; get z() { return this.#x + this.y; } }\nreturn new A().z;", 3),
    accepted("enum", "enum E { A = 1, B }\nreturn E.B;", 2),
    accepted("returned promise of a call", f"return {READ};", ONE),
    warned("un-awaited write", 'tools.filesystem.write_file({ path: "D/w1", content: "x" });\nreturn 1;', "1 call was answered after the `return`", value=1),
    accepted("console.log only", f"console.log((await {READ}).content);"),
    accepted("export default", f"export default async function () {{ return await {READ}; }}", ONE),
    accepted("export default main({ tools })", f"export default async function main({{ tools }}) {{ return await {READ}; }}", ONE),
    accepted("export default arrow with globals", f"export default async ({{ tools, console }}) => {{ console.log('x'); return (await {READ}).content; }};", "one"),
    accepted("main() without await", f"async function main() {{ return await {READ}; }}\nmain();", ONE),
    accepted("await main() without return", f"async function main() {{ return await {READ}; }}\nawait main();", ONE),
    accepted("main().then(console.log)", f"async function main() {{ return (await {READ}).content; }}\nmain().then(console.log);"),
    accepted("IIFE", f"(async () => {{ return await {READ}; }})();", ONE),
    accepted("last expression", f"const r = await {READ};\nr.content", "one"),
    accepted("import tools from limbeck", f'import {{ tools }} from "limbeck";\nreturn await {READ};', ONE),
    accepted("fence", f"```ts\nreturn await {READ};\n```", ONE),
    accepted("language javascript", "return 1;", 1, language="javascript"),
    accepted("language ts", "return 1;", 1, language="ts"),
    accepted("language py", "1", 1, language="py"),
    accepted("max_output_tokens 100", "return 1;", 1, max_output_tokens=100),
    accepted("timeout_ms 600000", "return 1;", 1, timeout_ms=600000),
    accepted("Intl.NumberFormat", 'return new Intl.NumberFormat("en-US").format(1234.5);', "1,234.5"),
    accepted("toLocaleString", 'return (1234.5).toLocaleString("en-US");', "1,234.5"),
    accepted("console.table", "console.table([{ a: 1 }]);"),
    accepted("AbortController", "const c = new AbortController(); c.abort(); return c.signal.aborted;", True),
    accepted("groupBy, toSorted, matchAll", "return [Object.groupBy([1], () => 'a'), [2, 1].toSorted(), [...'ab'.matchAll(/./g)].length];", [{"a": [1]}, [1, 2], 2]),
    accepted("undefined optional argument", 'return await tools.filesystem.read_text_file({ path: "D/n1", head: undefined });', ONE),
    accepted("null for optional", 'return await tools.filesystem.read_text_file({ path: "D/n1", head: null });', ONE),
    accepted("null for optional in a variable", 'const args = { path: "D/n1", head: null };\nreturn await tools.filesystem.read_text_file(args);', ONE),
    accepted("Python without language: import, print", 'import json\nprint(json.dumps({"a": 1}))'),
    accepted("Python without language: keyword arguments", f'r = await {PY_READ}\nprint(r.content)'),
    accepted("Python without language: def", f'def main():\n    return {PY_READ}.content\nmain()', "one"),
    accepted("Python without language: one print", 'print("hello")'),
    accepted("Python without language: assignment and return", f'result = await tools.time.get_current_time(timezone="UTC")\nreturn result.timezone', "UTC"),
    accepted("TypeScript as python", f"const r = await {READ};\nreturn r.content;", "one", language="python"),
]

PYTHON_SHAPES = [
    python(variant)
    for variant in [
        accepted("asyncio.run(main())", f"import asyncio\nasync def main():\n    print((await {PY_READ}).content)\nasyncio.run(main())"),
        accepted("__main__ guard", f'def main():\n    return {PY_READ}.content\nif __name__ == "__main__":\n    print(main())'),
        accepted("main() not awaited", f"async def main():\n    return (await {PY_READ}).content\nmain()", "one"),
        accepted("run_until_complete", f"import asyncio\nasync def main():\n    return (await {PY_READ}).content\nloop = asyncio.get_event_loop()\nloop.run_until_complete(main())", "one"),
        accepted("nested f-string quotes", 'd = {"a": 1}\nf"{d["a"]}"', "1"),
        accepted("underscore for hyphen (server)", 'tools.sequential_thinking.sequentialthinking(thought="a", thoughtNumber=1, totalThoughts=1, nextThoughtNeeded=False)'),
        accepted("snake_case arguments", 'tools.sequential_thinking.sequentialthinking(thought="a", thought_number=1, total_thoughts=1, next_thought_needed=False)'),
        accepted("underscore for hyphen (tool)", 'tools.everything.get_sum(a=1, b=2)'),
        accepted("zoneinfo", "from zoneinfo import ZoneInfo\nfrom datetime import datetime\ndatetime(2026, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset().seconds", 7200),
        accepted("ThreadPoolExecutor", f"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n    rs = list(pool.map(lambda n: tools.filesystem.read_text_file(path=f'D/{{n}}'), ['n1', 'n2']))\nrs", BOTH),
        accepted("calls without await in a comprehension", "[tools.filesystem.read_text_file(path=f'D/{n}') for n in ['n1', 'n2']]", BOTH),
        accepted("sync functions", f"def f():\n    return {PY_READ}\nf()", ONE),
        accepted("un-awaited list out of async main", "import asyncio\nasync def main():\n    return [tools.filesystem.read_text_file(path=f'D/{n}') for n in ['n1', 'n2']]\nasyncio.run(main())"),
        accepted("result variable", f"result = {PY_READ}", ONE),
        accepted("dict attributes, json.dumps", f"import json\nr = {PY_READ}\nprint(r.content, json.dumps(r))"),
        accepted("dataclass as value", "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(1)", {"x": 1}),
        accepted("print(gather) un-awaited", f"import asyncio\nr = asyncio.gather({PY_READ}, {PY_READ})\nprint(r)\nr", [ONE, ONE]),
        warned("coroutines returned", f"async def f():\n    return await {PY_READ}\nreturn [f(), f()]", "was awaited", value=[ONE, ONE]),
        accepted("None for optional", "tools.filesystem.read_text_file(path='D/n1', head=None)", ONE),
        accepted("from tools import x", "from tools import filesystem\nfilesystem.read_text_file(path='D/n1')", ONE),
        accepted("import tools", f"import tools\n{PY_READ}", ONE),
        accepted("from limbeck import tools", f"from limbeck import tools\n{PY_READ}", ONE),
        accepted("dir(tools.git)", "'git_log' in dir(tools.git)", True),
        accepted("tools.tool()", "tools.read_text_file(path='D/n1')", ONE),
        accepted("mcp__s__t()", "mcp__filesystem__read_text_file(path='D/n1')", ONE),
        accepted("tools.mcp__s__t()", "tools.mcp__filesystem__read_text_file(path='D/n1')", ONE),
        accepted("tools.call_tool()", "tools.call_tool('filesystem', 'read_text_file', {'path': 'D/n1'})", ONE),
        accepted("call_tool('tool')", "call_tool('read_text_file', {'path': 'D/n1'})", ONE),
        warned("unlisted argument, no near name", "tools.git.git_log(repo_path='G', zebra=1)", "declares no argument `zebra`"),
        warned("limit for max_count", "tools.git.git_log(repo_path='G', limit=1)", "declares no argument `limit`"),
        accepted("if tools.slack", "'yes' if tools.slack else 'no'", "no"),
    ]
]

NAMES = [
    accepted("tools.sequentialThinking", 'return await tools.sequentialThinking.sequentialthinking({ thought: "a", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false });'),
    accepted("tools.sequential_thinking.sequential_thinking", 'return await tools.sequential_thinking.sequential_thinking({ thought: "a", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false });'),
    accepted("snake_case arguments", 'return await tools.sequential_thinking.sequentialthinking({ thought: "a", thought_number: 1, total_thoughts: 1, next_thought_needed: false });'),
    accepted("readTextFile", 'return await tools.filesystem.readTextFile({ path: "D/n1" });', ONE),
    accepted("gitLog with camelCase arguments", 'return typeof await tools.git.gitLog({ repoPath: "G", maxCount: 1 });', "string"),
    accepted("maxCount for max_count", 'return (await tools.git.git_log({ repo_path: "G", maxCount: 1 })).match(/Commit:/g).length;', 1),
    accepted("maxCount in a variable", 'const a = { repo_path: "G", maxCount: 1 };\nreturn (await tools.git.git_log(a)).match(/Commit:/g).length;', 1),
    accepted("tools.tool()", 'return await tools.read_text_file({ path: "D/n1" });', ONE),
    accepted("readTextFile without server", 'return await tools.readTextFile({ path: "D/n1" });', ONE),
    accepted("mcp__s__t()", 'return await mcp__filesystem__read_text_file({ path: "D/n1" });', ONE),
    accepted("tools.mcp__s__t()", 'return await tools.mcp__filesystem__read_text_file({ path: "D/n1" });', ONE),
    accepted('tools["s.t"]()', 'return await tools["filesystem.read_text_file"]({ path: "D/n1" });', ONE),
    accepted("tools.call() of two names", 'return await tools.call("filesystem", "read_text_file", { path: "D/n1" });', ONE),
    accepted("tools.call() of a full name", 'return await tools.call("filesystem.read_text_file", { path: "D/n1" });', ONE),
    accepted("callTool of two names", 'return await callTool("filesystem", "read_text_file", { path: "D/n1" });', ONE),
    accepted("callTool as a client of MCP", 'return await callTool({ name: "read_text_file", arguments: { path: "D/n1" } });', ONE),
    accepted("callMCPTool", 'return (await callMCPTool("mcp__filesystem__read_text_file", { path: "D/n1" }));', "one"),
    accepted("Object.keys(tools)", 'return Object.keys(tools).includes("git");', True),
    accepted("Object.keys(tools.git)", 'return Object.keys(tools.git).includes("git_log");', True),
    accepted('"git_log" in tools.git', 'return ["git_log" in tools.git, "nope" in tools.git, "slack" in tools];', [True, False, False]),
    warned("if (tools.slack)", "if (tools.slack) { return 1; }\nreturn 2;", "no server is called `slack`"),
    accepted("slack in tools", 'return "slack" in tools;', False),
    accepted("alias of tools", f"const t = tools;\nreturn await t.filesystem.read_text_file({{ path: \"D/n1\" }});", ONE),
    accepted("JSON text through callMCPTool", 'const p = await callMCPTool("mcp__filesystem__read_text_file", { path: "D/data.json" });\nawait callMCPTool("mcp__filesystem__write_file", { path: "D/copy.json", content: p });\nreturn (await tools.filesystem.read_text_file({ path: "D/copy.json" })).content;', '{"a": 1}\n'),
    refused("list_files", 'return await tools.filesystem.list_files({ path: "D" });', "no tool `list_files`", "list_directory"),
    refused("git.log", 'return await git.log({ repo_path: "G" });', "a server is reached through `tools`"),
    refused("fs for filesystem", 'return await tools.fs.read_text_file({ path: "D/n1" });', "no server is called `fs`", "tools.filesystem.read_text_file"),
    refused("no such server github", 'return await tools.github.list_issues({});', "no server is called `github`"),
    refused("no such server slack", 'return await tools.slack.post({});', "no server is called `slack`"),
    refused("slack?.", 'return await tools.slack?.post({});', "no server is called `slack`"),
    refused("filesystem.tool", 'return await filesystem.read_text_file({ path: "D/n1" });', "a server is reached through `tools`"),
    refused("mcp.filesystem.tool", 'return await mcp.filesystem.read_text_file({ path: "D/n1" });', "tools.server.tool"),
]

PROMISES = [
    warned("map of un-awaited calls returned", 'return ["n1", "n2"].map((n) => tools.filesystem.read_text_file({ path: `D/${n}` }));', "2 promises", value=BOTH),
    warned("map(async) returned", 'return ["n1", "n2"].map(async (n) => (await tools.filesystem.read_text_file({ path: `D/${n}` })).content);', "2 promises", value=["one", "two"]),
    warned("promise in an object", f"return {{ a: {READ}, b: 1 }};", "a promise", value={"a": ONE, "b": 1}),
    warned("promise in an argument", f'await tools.filesystem.write_file({{ path: "D/w2", content: {READ}.then((r) => r.content) }});\nreturn (await tools.filesystem.read_text_file({{ path: "D/w2" }})).content;', "was a promise", value="one"),
    warned("forEach(async)", 'const out: string[] = [];\n["n1", "n2"].forEach(async (n) => { out.push((await tools.filesystem.read_text_file({ path: `D/${n}` })).content); });\nreturn out;', "2 calls were answered after the `return`"),
    warned("console.log(promise)", f"console.log({READ});", "a promise was printed"),
    refused("no await, then .length", f"const r = {READ};\nreturn r.content.length;", "await"),
    refused("no await in a template", f"const r = {LOG};\nreturn r.split(' ');", "await"),
]

RAW = [
    refused(".content[0].text of {content: string}", f"return (await {READ}).content[0].text;", "unwrapped already", ".raw("),
    refused("content[0].text of text", f"const r = await {LOG};\nreturn r.content[0].text;", "unwrapped already"),
    warned(".text of text", f"const r = await {LOG};\nreturn r.text;", "unwrapped already"),
    warned(".result of text", f"const r = await {LOG};\nreturn r.result;", "unwrapped already"),
    warned("[0].text of text", f"const r = await {LOG};\nreturn r[0].text;", "unwrapped already"),
    warned("const { content } of text", f"const {{ content }} = await {LOG};\nreturn content;", "unwrapped already"),
    warned("content?.[0]?.text", f"const r = await {LOG};\nreturn r.content?.[0]?.text;", "unwrapped already"),
    refused("const [{text}] = r.content", f"const r = await {LOG};\nconst [{{ text }}] = r.content;\nreturn text;", "unwrapped already"),
    refused("structuredContent", f"const r = await {NOW};\nreturn r.structuredContent.datetime;", "unwrapped already"),
    warned("r.dateTime of declared datetime", f"const r = await {NOW};\nreturn r.dateTime;", "datetime"),
    warned("JSON.parse(object)", f"return JSON.parse(await {READ}).content;", "parsed already", value="one"),
    refused("JSON.parse(no JSON)", f"return JSON.parse(await {LOG});", "is not JSON", "begins with"),
    refused("JSON.parse(Python repr)", "return JSON.parse(\"{'a': None}\");", "how Python prints"),
    refused("rows.map of text", f"const rows = await {LOG};\nreturn rows.map((r) => r);", "not a function"),
    warned("a field that is not there", f"const r = await {LOG};\nreturn r.commits;", "returned no value"),
    warned("nothing returned", f"const r = await {LOG};", "returned no value"),
    warned("a function returned", "return () => 1;", "a function"),
    python(refused(".text of text", f"{PY_LOG}.text", "unwrapped already")),
    python(refused(".content[0].text of text", f"{PY_LOG}.content[0].text", "unwrapped already")),
    python(refused('["content"] of text', f'{PY_LOG}["content"]', "unwrapped already")),
    python(refused('r["content"][0]["text"] of {content: str}', f'r = {PY_READ}\nr["content"][0]["text"]', "unwrapped already")),
    python(refused('r["time"]', f'r = {PY_NOW}\nr["time"]', "'time'", "nearest are")),
    python(refused("r.dayOfWeek", f"r = {PY_NOW}\nr.dayOfWeek", "day_of_week")),
    python(refused("iterate text as rows", f'for row in {PY_LOG}:\n    print(row["hash"])', "text")),
    python(warned("json.loads(dict)", f"import json\njson.loads({PY_READ})", "parsed already", value=ONE)),
    python(refused("json.loads(no JSON)", f"import json\njson.loads({PY_LOG})", "is not JSON", "begins with")),
]

ARGUMENTS = [
    refused("file_path for path", 'return await tools.filesystem.read_text_file({ file_path: "D/n1" });', "path"),
    python(refused("repo for repo_path", 'tools.git.git_log(repo="G")', "repo_path")),
    warned("unlisted argument in a variable", 'const a = { repo_path: "G", zebra: 1 };\nreturn await tools.git.git_log(a);', "declares no argument `zebra`"),
    warned("unlisted argument in the call", 'return await tools.git.git_log({ repo_path: "G", zebra: 1 });', "declares no argument `zebra`"),
    refused("wrong argument in a variable", 'const a = { repo: "G" };\nreturn await tools.git.git_log(a);', "repo_path"),
    refused("wrong enum", 'return await tools.everything["get-resource-reference"]({ resourceType: "nope", resourceId: 1 });', "must be one of"),
    refused('"x" for a number', 'return await tools.everything["get-sum"]({ a: "x", b: 1 });', "must be number"),
    refused("text for list", 'return await tools.filesystem.read_multiple_files({ paths: "D/n1" });', "must be array"),
    refused("no arguments", "return await tools.git.git_log();", "repo_path"),
    refused("two mistakes at once", 'const a = await tools.git.git_log({ repo: "G" });\nreturn await tools.filesystem.read_text_file({ file: a });', "line 1", "line 2"),
    refused("type for entityType", 'return await tools.memory.create_entities({ entities: [{ name: "a", type: "b", observations: [] }] });', "entityType"),
    refused("positional", 'return await tools.filesystem.read_text_file("D/n1");', "{ path: value }"),
    python(refused("positional", 'tools.filesystem.read_text_file("D/n1", 3)', "path=value")),
]

ABSENT = [
    refused("require", 'const fs = require("fs");\nreturn 1;', "no modules"),
    refused("import fs", 'import fs from "fs";\nreturn fs.readFileSync("a");', "does not exist", "tools."),
    refused("import node:fs/promises", 'import { readFile } from "node:fs/promises";\nreturn await readFile("a");', "does not exist", "tools."),
    refused("import path", 'import path from "path";\nreturn path.join("a");', "does not exist"),
    refused('import from "mcp"', 'import { x } from "mcp";\nreturn x;', "does not exist", "tools."),
    refused("fetch", 'return await fetch("https://example.com");', "no network"),
    refused("module.exports", "module.exports = 1;", "`return`"),
    refused("Buffer", 'return Buffer.from("a");', "Uint8Array"),
    refused("process.env", "return process.env.HOME;", "no process"),
    refused("llm", 'return await llm.ask("x");', "no provider is configured"),
    refused('timeZone: "Asia/Tokyo"', 'return new Date().toLocaleString("en-US", { timeZone: "Asia/Tokyo" });', "zoneinfo"),
    refused("misspelt variable", "const total = 1;\nreturn totl;", "totl"),
    refused("syntax: a = {;", "const a = {;\nreturn a;", "SyntaxError"),
    refused("unclosed block", "if (true) {\nreturn 1;", "SyntaxError"),
    refused("emit of a list", "await emit([1]);", "emit"),
    *[python(refused(name, f"import {name}\n1", "not available", *says)) for name, says in [
        ("pandas", ()), ("numpy", ()),
    ]],
    *[python(refused(name, f"import {name}\n1", "no network")) for name in ["requests", "httpx"]],
    python(refused("urllib", "import urllib.request\nurllib.request.urlopen('http://x')", "no network")),
    python(refused("yaml", "import yaml\n1", "json")),
    python(refused("pip", "!pip install x", "packages cannot be installed")),
    python(refused("subprocess", "import subprocess\nsubprocess.run(['ls'])", "no processes")),
    python(refused("input()", "input('name?')", "`input`")),
    python(refused("open() of a host file", "open('/data/n1').read()", "tools.filesystem.read_text_file")),
    python(refused("os.listdir of a host folder", "import os\nos.listdir('/data')", "tools.filesystem")),
    python(refused("filesystem.tool", "filesystem.read_text_file(path='D/n1')", "a server is reached through `tools`")),
    python(refused("mcp.filesystem.tool", "mcp.filesystem.read_text_file(path='D/n1')", "tools.server.tool")),
    python(refused("misspelt variable", "total = 1\ntotl", "`total`")),
    python(refused("indentation", "if True:\nprint(1)", "indent")),
    python(refused("call not awaited in async def", f"import asyncio\nasync def main():\n    r = {PY_READ}\n    return r.content.upper()\nprint(await main())", "await")),
]

VARIANTS = [*SHAPES, *PYTHON_SHAPES, *NAMES, *PROMISES, *RAW, *ARGUMENTS, *ABSENT]
