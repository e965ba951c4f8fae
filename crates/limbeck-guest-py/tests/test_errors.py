"""How a failed program is reported: its place, its own lines, and what to do."""

import pytest
from gateway import Gateway


@pytest.mark.parametrize(
    "program, name, message, line, column",
    [
        ("x = 1\nx / 0", "ZeroDivisionError", "division by zero", 2, 1),
        ("def f(a):\n    return a['k']\n\nprint(f({}))", "KeyError", "'k'", 2, 12),
        ("import json\nx = 'é'; json.loads('{')", "JSONDecodeError", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", 2, 10),
        ("class Mine(Exception):\n    pass\nraise Mine('text')", "Mine", "text", 3, 1),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "", 1, 1),
        ("import sys\nsys.exit(3)", "SystemExit", "3", 2, 1),
        ("import sys\nsys.exit('because')", "SystemExit", "because", 2, 1),
        ("async def f():\n    raise ValueError('a')\nawait f()", "ValueError", "a", 2, 5),
        ("import asyncio\nasync def f():\n    raise ValueError('a')\nasyncio.run(f())", "ValueError", "a", 3, 5),
        ("assert 1 == 2, 'sum'", "AssertionError", "sum", 1, 8),
        ("def f():\n    return f()\nf()", "RecursionError", None, 2, 12),
        ("if True:\n    return 1 + 'a'\n", "TypeError", None, 2, 12),
        ("sorted([1], key=lambda x: x.y)", "AttributeError", "'int' object has no attribute 'y'", 1, 27),
        ("eval('1 +')", "SyntaxError", None, 1, 1),
    ],
)  # fmt: skip
def test_an_error_has_its_name_message_and_place(run, program, name, message, line, column):
    ended = run(program)
    assert ended.kind == 1
    error = ended.error
    assert (error["name"], error["line"]) == (name, line)
    assert message is None or error["message"] == message
    assert error["column"] == column or program.startswith(("assert", "raise")), error


@pytest.mark.parametrize(
    "program, line, column, message",
    [
        ("x = 1\ny = = 2", 2, 5, "invalid syntax"),
        ("def f(:\n  pass", 1, 7, "invalid syntax"),
        ("print('a'\n", 1, 6, "'(' was never closed"),
        ("def f():\n    await x", 2, 5, "'await' outside async function"),
        ("break", 1, 1, "'break' outside loop"),
        ("x = '\0'", None, None, "source code string cannot contain null bytes"),
        ("Words around:\n```python\nx = = 1\n```", 3, 5, "invalid syntax"),
        ("if 1:\nx", 2, 1, "expected an indented block after 'if' statement on line 1"),
        ("(" * 300 + ")" * 300, None, None, None),
        ("-" * 100_000 + "1", None, None, None),
    ],
)
def test_what_is_no_python_is_told_before_anything_runs(run, program, line, column, message):
    ended = run(f"{program}")
    assert ended.kind == 3
    error = ended.error
    assert error["name"] == "SyntaxError"
    assert message is None or error["message"] == message
    assert line is None or error.get("line") == line
    assert column is None or error.get("column") == column
    assert ended.gateway.calls == []
    assert ended.stdout == ""


def test_the_traceback_has_the_lines_of_the_program_alone(run):
    program = """
import json
def outer():
    inner()
def inner():
    try:
        tools.shop.fail(message="first")
    except ToolError as error:
        json.loads("{" + error.missing)
outer()
"""
    ended = run(program)
    assert ended.kind == 1
    files = [line.strip() for line in ended.stderr.splitlines() if line.strip().startswith("File")]
    assert [line.split(",")[0] for line in files] == ['File "program.py"'] * len(files)
    assert len(files) == 4
    assert "tools.shop.fail(message=\"first\")" in ended.stderr
    assert "During handling of the above exception" in ended.stderr
    assert ended.stderr.rstrip().endswith("AttributeError: 'ToolError' object has no attribute 'missing'")


def test_a_traceback_that_a_program_prints_itself_hides_the_prelude(run):
    program = """
import traceback
try:
    tools.shop.fail(message="x")
except ToolError:
    traceback.print_exc()
    text = traceback.format_exc()
return "limbeck_guest" in text or "calls.py" in text
"""
    ended = run(program)
    assert ended.value is False
    assert ended.stderr.startswith('Traceback (most recent call last):\n  File "program.py", line 4, in <module>\n')
    assert ended.stderr.endswith("ToolError: x\n")


@pytest.mark.parametrize(
    "program, code, hint",
    [
        ("tools.shop.fail()", "tool_failed", "`tools.shop.fail` failed with the code `tool_failed`"),
        ("await mcp_shop.nope()", "unknown_tool", "the nearest is `tools.shop.list_orders`"),
        ("call_mcp_tool('mcp__shop__nope')", "unknown_tool", "the nearest is `tools.shop.list_orders`"),
        ("raise ToolError('by hand', code='denied')", "denied", None),
        ("raise ToolError('by hand')", None, None),
        ("try:\n    tools.shop.fail()\nexcept ToolError as e:\n    raise ExceptionGroup('g', [e])", "tool_failed", "tools.shop.fail"),
        # Another error has no code, even if a field of it has that name.
        ("class E(Exception):\n    code = 'denied'\nraise E('x')", None, None),
        ("class E(ToolError):\n    code = property(lambda self: 1 / 0)\nraise E('x')", None, None),
    ],
)
def test_the_report_of_a_failed_call_has_its_code(run, program, code, hint):
    error = run(program).error
    assert (error.get("code"), hint is None or hint in error["hint"]) == (code, True), error
    assert hint is not None or "hint" not in error


def test_groups_and_causes_are_told(run):
    program = """
try:
    raise ValueError("cause")
except ValueError as error:
    raise ExceptionGroup("several", [KeyError("k"), ExceptionGroup("inner", [TypeError("t")])]) from error
"""
    ended = run(program)
    assert ended.error["message"] == "several (2 sub-exceptions)\nKeyError: 'k'\nExceptionGroup: inner (1 sub-exception)\nTypeError: t"
    assert "direct cause" in ended.stderr
    assert "| TypeError: t" in ended.stderr


@pytest.mark.parametrize(
    "program",
    [
        "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E",
        "class E(Exception):\n    def __str__(self):\n        return 5\nraise E",
        "class E(Exception):\n    @property\n    def __cause__(self):\n        raise ValueError\nraise E('x')",
        "class M(type):\n    @property\n    def __name__(cls):\n        raise ValueError\nclass E(Exception, metaclass=M):\n    pass\nraise E('x')",
        "e = ValueError('x')\ne.__cause__ = e\nraise e",
        "e = None\nfor i in range(5_000):\n    n = ValueError(i)\n    n.__context__ = e\n    e = n\nraise e",
        "raise ValueError('x' * 10_000_000)",
        "class E(Exception):\n    hint = property(lambda self: 1 / 0)\nraise E('x')",
        "def f(n):\n    return f(n + 1)\ntry:\n    f(0)\nfinally:\n    raise ValueError('x')",
        "g = ExceptionGroup('g', [ValueError(1)])\nfor _ in range(500):\n    g = ExceptionGroup('g', [g])\nraise g",
        "import sys\nsys.excepthook = None\nsys.stderr = None\nraise ValueError('x')",
        "import traceback, linecache\ntraceback.TracebackException = None\nlinecache.getline = None\nraise ValueError('x')",
    ],
)  # fmt: skip
def test_an_error_that_misbehaves_is_told_all_the_same(run, program):
    ended = run(program)
    assert ended.kind == 1
    assert ended.error["name"]
    assert len(ended.text) < 20_000
    assert len(ended.stderr) < 100_000


@pytest.mark.parametrize(
    "program, name",
    [
        ("class MemoryError(Exception):\n    pass\nraise MemoryError", "__main__.MemoryError"),
        ("class NeverSettles(Exception):\n    pass\nraise NeverSettles", "__main__.NeverSettles"),
        ("raise MemoryError", "MemoryError"),
        ("def f():\n    f()\nf()", "RecursionError"),
    ],
)
def test_the_names_of_limits_are_those_of_the_interpreter_alone(run, program, name):
    assert run(program).error["name"] == name


def test_no_place_of_the_prelude_is_printed(run):
    program = """
import asyncio, logging, traceback, warnings
async def never():
    pass
[never][0]()
async def fails():
    await asyncio.create_task(tools.shop.fail(message="in a task"))
left = [asyncio.create_task(fails()), asyncio.create_task(tools.shop.fail(message="left"))]
await asyncio.sleep(1)
del left
try:
    json = call_tool(5)
except TypeError:
    logging.exception("logged")
    traceback.print_exc()
warnings.warn("warned")
tools.shop.nope()
"""
    text = run(program).stderr
    for part in ("was never awaited", "in a task", "left", "logged", "program.py:16: UserWarning: warned", "has no tool `nope`"):
        assert part in text
    assert "limbeck_guest" not in text
    assert "loop.py" not in text


@pytest.mark.parametrize(
    "program, hint",
    [
        ("import requests", "there is no network here"),
        ("import pandas as pd", "numpy, pandas and packages built on them are not available"),
        ("import yaml", "`json` is here"),
        ("import pytz", "zoneinfo"),
        ("import jsn", "did you mean `json`?"),
        ("import nothing_like_it", "packages cannot be installed"),
        ("import mcp.servers.nope", "servers are `shop`, `Get-Weird.1`"),
        ("from mcp import ClientSession", "`mcp` has `runtime`"),
        ("console.log(1)", "use `print`"),
        ("x = null", "in Python it is `None`"),
        ("fetch('x')", "there is no network here"),
        ("callMCPTool('x')", "in Python it is `call_mcp_tool`"),
        ("shop.list_orders()", "`tools.shop.tool(...)`"),
        ("json.dumps(1)", "add `import json`"),
        ("defaultdict(list)", "add `from collections import defaultdict`"),
        ("lenght = 1\nlength", "`lenght`"),
        ("serch('x')", "`search`"),
        ("input('name?')", "`input` is the program's argument"),
        ("import builtins\nbuiltins.input()", "a program cannot ask"),
        ("x = None\nx.y", "the value before the dot is None"),
        ("x = None\nx['y']", "the value before the bracket is None"),
        ("tools.shop.list_orders().values[0]", "the object has no field of that name"),
        ("[o.id for o in tools.shop.list_orders().items()]", "a field `items` is read as"),
        ("x = 'text'\nx['a']", "`json.loads(text)`"),
        ("x = 'text'\nx.get('a')", "`json.loads(text)`"),
        ("import json\njson.loads(1)", "the value is parsed already"),
        ("import json\njson.dumps({1, 2})", "add `default=str`"),
        ("async def f():\n    return 1\nasync def g():\n    f().x\nawait g()", "was not awaited"),
        ("for o in tools.shop.list_orders():\n    o['id']", "its lists are 'items'"),
        ("import asyncio\nfor o in tools.shop.list_orders():\n    o.id", "its lists are 'items'"),
        ("for row in 'a\\nb':\n    row['id']", "`json.loads(text)`"),
        ("text = 'a\\nb'\nfor row in text:\n    row['id']", "`text.splitlines()`"),
        ("def f():\n    f()\nf()", "check what ends the recursion"),
        ("open('/etc/passwd_')", "files are only in /tmp and /workspace"),
        ("import os\nos.listdir('/etc_')", "files are only in /tmp and /workspace"),
        ("from zoneinfo import ZoneInfo\nZoneInfo('Berlin/Europe')", "Europe/Berlin"),
        ("const a = 1\nlet b = () => 2", "this looks like TypeScript"),
        ("!pip install x", "this is not a notebook"),
        ("def f():\n    x = await tools.shop.list_orders()", "or leave `await` out"),
    ],
)
def test_a_hint_says_what_to_do(run, program, hint):
    assert hint in run(program).error["hint"]


@pytest.mark.parametrize(
    "program",
    [
        "import subprocess\nsubprocess.run(['ls'])",
        "import subprocess\nsubprocess.check_output('ls', shell=True)",
        "import os\nos.system('ls')",
        "import os\nos.popen('ls')",
        "import os\nos.fork()",
        "import os\nos.execv('/bin/ls', [])",
        "import socket\nsocket.socket()",
        "import socket\nsocket.create_connection(('example.com', 80))",
        "import socket\nsocket.getaddrinfo('example.com', 80)",
        "import urllib.request\nurllib.request.urlopen('http://example.com')",
        "import http.client\nhttp.client.HTTPConnection('example.com').request('GET', '/')",
        "import smtplib\nsmtplib.SMTP('example.com')",
        "import asyncio\nawait asyncio.open_connection('example.com', 80)",
        "import asyncio\nawait asyncio.create_subprocess_shell('ls')",
        "import asyncio\nawait asyncio.start_server(print, 'localhost', 1)",
        "import _thread\n_thread.start_new_thread(print, ())",
        "breakpoint()",
    ],
)
def test_what_cannot_be_done_here_says_why_and_what_to_do(run, program):
    error = run(program).error
    assert "there is no" in error["message"] or "there are no" in error["message"]
    assert error["name"] in ("OSError", "RuntimeError", "URLError")
