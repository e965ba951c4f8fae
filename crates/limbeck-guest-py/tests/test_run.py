"""What a program is, how it comes to its value, and what it prints."""

from textwrap import dedent

import pytest
from gateway import Gateway


@pytest.mark.parametrize(
    "program, value",
    [
        ("1 + 1", 2),
        ("x = 3\nx * 2\n", 6),
        ("return 5", 5),
        ("x = 1\nif x:\n    return 'early'\nreturn 'late'", "early"),
        ("x = 2\nif x == 1:\n    return 'early'\nx + 1", 3),
        ("result = {'a': 1}", {"a": 1}),
        ("result = 5\nprint('shown')", None),
        ("result = 5\nprint('shown')\nreturn 6", 6),
        ("result = 1\n[].append(1)", 1),
        ("print('x')", None),
        ("", None),
        ("# only a comment", None),
        ("'a docstring only'", "a docstring only"),
        ("x: int = 4\ny: str\nreturn x", 4),
        ("from math import *\nreturn floor(2.5)", 2),
        ("from __future__ import annotations\nreturn 7", 7),
        ("for i in range(3):\n    if i == 1:\n        return i", 1),
        ("try:\n    return 'tried'\nexcept:\n    return 'caught'", "tried"),
        ("with open('/tmp/a', 'w') as f:\n    f.write('x')\n    return f.name", "/tmp/a"),
        ("[y := i for i in range(3)]\nreturn y", 2),
        ("match {'k': 1}:\n    case {'k': v, **rest}:\n        return [v, rest]", [1, {}]),
        ("def f():\n    global g\n    g = 9\nf()\nreturn g", 9),
        ("if __name__ == '__main__':\n    41 + 1", 42),
        ("def main():\n    return 'called'", "called"),
        ("def run(given):\n    return given", {"n": 1}),
        ("def main(given=3):\n    return given", 3),
        ("async def main():\n    return 'awaited'", "awaited"),
        ("async def main():\n    return 'named'\nmain()", "named"),
        ("import asyncio\nasync def main():\n    return 'ran'\nif __name__ == '__main__':\n    asyncio.run(main())", "ran"),
        ("def main():\n    return 1\nx = main()", None),
        ("```python\n2\n```", 2),
        ("Here it is:\n\n```python\nx = 4\nx\n```\nThat's all.", 4),
        ("    x = 1\n    x", 1),
        ("\ufeff8", 8),
        ("a = 1\r\na + 1\r\n", 2),
        ('text = """\n```python\nnot this\n```\n"""\nlen(text)', 24),
        ("import sys\nsys.exit()", None),
        ("import sys\nsys.exit(0)\n", None),
        ("exit()", None),
        ("input['n']", 1),
        ("input.n", 1),
        ("exec('made = 1')\nlocals()['other'] = 2\nnames = dir()\nreturn [made, other, 'made' in names, eval('made + 1')]", [1, 2, True, 2]),
        ("import argparse\nargparse.ArgumentParser().prog", "program.py"),
        ("import os, pathlib\n[str(pathlib.Path.home()), os.path.expanduser('~/a'), __file__]", ["/workspace", "/workspace/a", "/workspace/program.py"]),
        ("class A:\n    def m(self):\n        return __name__\nreturn A().m()", "__main__"),
    ],
)
def test_a_program_comes_to_its_value(run, program, value):
    assert run(program, input={"n": 1}).value == value


@pytest.mark.parametrize(
    "program, printed",
    [
        ("print('a')\nprint('b', end='')\nprint('c')", "a\nbc\n"),
        ("print()\nprint('x\\n\\ny')", "\nx\n\ny\n"),
        ("print('no end', end='')", "no end\n"),
        ("import sys\nsys.stdout.write('w')\nsys.stdout.flush()\nsys.stdout.write('x\\n')", "wx\n"),
        ("import sys\nsys.stdout.buffer.write('ä\\n'.encode())", "ä\n"),
        ("print('\\ud800')", "\ufffd\n"),
        ("import pprint\npprint.pprint({'a': [1, 2]})", "{'a': [1, 2]}\n"),
        ("import sys\nsys.stdout.close()\nprint('still here')", "still here\n"),
        ("import contextlib, io\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    print('caught')\nprint(b.getvalue().upper())", "CAUGHT\n\n"),
    ],
)
def test_what_is_printed_arrives_line_by_line(run, program, printed):
    assert run(program).stdout == printed


def test_a_line_of_five_megabytes_arrives_whole(run):
    ended = run("print('x' * 5_000_000)")
    assert sum(map(len, ended.gateway.lines[0])) == 5_000_000


@pytest.mark.parametrize(
    "program, rest",
    [
        # The end of a line whose beginning was sent is no line of its own.
        ("print(LONG)\nprint('end')", "end\n"),
        ("print(LONG, end='')\nprint('end')", "end\n"),
        ("print(LONG, end='')\nprint('\\nend')", "end\n"),
        ("sys.stdout.write('x' * (1 << 20) + '\\nend\\n')", "end\n"),
        ("print(LONG)", ""),
        # Empty lines stay.
        ("print(LONG)\nprint()\nprint('end')", "\nend\n"),
        ("sys.stdout.write('x' * (1 << 20) + '\\n\\nend\\n')", "\nend\n"),
        ("print(LONG, end='')\nprint('\\n\\nend')", "\nend\n"),
    ],
)
def test_a_long_line_has_one_end(run, program, rest):
    lines = run(f"import sys\nLONG = 'x' * 3_000_000\n{program}").gateway.lines[0]
    beginning = [line for line in lines if line.startswith("x")]
    assert "".join(f"{line}\n" for line in lines[len(beginning) :]) == rest
    assert "".join(beginning).strip("x") == ""


def test_standard_error_logging_warnings_and_tracebacks_are_apart_from_standard_output(run):
    program = """
        import logging, sys, traceback, warnings
        logging.basicConfig(level=logging.INFO)
        logging.info("logged")
        warnings.warn("warned")
        print("to stderr", file=sys.stderr)
        try:
            1 / 0
        except ZeroDivisionError:
            traceback.print_exc()
        print("to stdout")
    """
    ended = run(dedent(program))
    assert ended.stdout == "to stdout\n"
    for text in ("INFO:root:logged", "UserWarning: warned", "to stderr", "ZeroDivisionError: division by zero"):
        assert text in ended.stderr


def test_two_runs_share_nothing(run):
    first = run("import json\njson.marker = 1\nbuiltins_len = len\nx = 5\nx")
    second = run("import json\n[hasattr(json, 'marker'), 'x' in globals()]")
    assert (first.value, second.value) == (5, [False, False])


def test_names_of_the_prelude_are_not_in_reach(run):
    program = "import sys\nreturn [name for name in sys.modules if 'limbeck' in name or 'wit_world' in name]"
    # A module that programs may import has the name of the product.
    assert run(program).value == ["limbeck"]
    assert run("import limbeck_guest").error["name"] == "ModuleNotFoundError"


def test_a_program_that_is_only_read_does_not_run(run):
    ended = run("print('ran')\ntools.shop.echo(a=1)", gateway=Gateway(mode="check"))
    assert (ended.kind, ended.text, ended.stdout, ended.gateway.last_id) == (0, "", "", 0)
    assert run("print('ran'", gateway=Gateway(mode="check")).kind == 3
