"""Skills: what is kept of a function, and how it is called in a later program."""

import pytest

from gateway import Gateway


def kept(run, program):
    """What a program keeps."""
    return run(program).gateway.store


HELPERS = """
import re
from math import sqrt as root
LIMIT = 3
WORDS = re.compile(r"[a-z]+")
def half(x):
    return root(x * x) / 2
class Box:
    def __init__(self, x):
        self.x = min(x, LIMIT)
"""


def test_what_a_function_uses_of_its_program_is_kept_with_it(run):
    program = HELPERS + """
def size(text):
    return [half(len(WORDS.findall(text))), Box(9).x]
unused = tools.shop.get_order(id=1)
skills.save(size)
"""
    store = kept(run, program)
    source = store["skills"]["size"]["source"]
    assert "unused" not in source and source.index("LIMIT = 3") < source.index("class Box")
    for call in ("skills.size('a b c')", "await skills.size('a b c')", "from skills import size\nawait size('a b c')", "size('a b c')"):
        assert run(call, gateway=Gateway(store=store)).value == [1.5, 3], call


def test_what_cannot_be_kept_is_named(run):
    program = "rows = tools.shop.list_orders()\ndef total():\n    return len(rows)\n"
    error = run(program + "skills.save(total)").error
    assert error["name"] == "ToolError" and "`rows`" in error["message"] and "helpers" in error["hint"], error
    store = kept(run, program + "skills.save(total, helpers={'rows': [1, 2]})")
    assert run("skills.total()", gateway=Gateway(store=store)).value == 2


def test_values_of_an_outer_function_are_kept(run):
    program = "def make(n):\n    def add(x):\n        return x + n\n    return add\nsave_tool(make(5))"
    assert run("skills.add(1)", gateway=Gateway(store=kept(run, program))).value == 6


@pytest.mark.parametrize(
    "call",
    ["skills.total(7)", "await skills.total(id=7)", "import asyncio\n(await asyncio.gather(skills.total(7), skills.total(7)))[0]"],
)
def test_a_skill_that_waits_is_called_as_a_plain_one(run, call):
    function = "async def total(id):\n    return (await tools.shop.get_order(id=id))['total']\n"
    assert run(call, gateway=Gateway(store=kept(run, function + "save_tool(total)"))).value == 14


def test_the_program_of_an_execution_is_called_with_its_input(run):
    text = "order = await tools.shop.get_order(id=input['id'])\nprint('asked')\nreturn {'total': order['total'], 'of': input['id']}"
    store = {"skills": {"report": {"name": "report", "form": "program", "source": text, "version": 1}}}
    ended = run("a = await skills.report({'id': 7})\nb = skills.report(id=8)\n[a, b, input]", gateway=Gateway(store=store))
    assert ended.value == [{"total": 14, "of": 7}, {"total": 16, "of": 8}, None]
    assert ended.stdout.splitlines() == ["asked", "asked"]


def test_versions_are_compared(run):
    program = "def f():\n    return 1\na = skills.save(f)\ndef f():\n    return 2\nskills.save(f, if_version=a['version'])\n"
    assert run(program + "skills.list()").value == [{"name": "f", "call": "skills.f"}]
    assert "is at version 2" in run(program + "skills.save(f, if_version=1)").error["message"]
    assert run(program + "skills.remove('f')\nskills.f()").error["message"] == "there is no skill `f`"


def test_a_skill_has_names_of_its_own(run):
    store = kept(run, "COUNT = 1\ndef f():\n    global COUNT\n    COUNT += 1\n    return COUNT\nsave_tool(f)")
    assert run("COUNT = 10\n[skills.f(), skills.f(), COUNT]", gateway=Gateway(store=store)).value == [2, 3, 10]


def test_errors_name_the_skill(run):
    store = kept(run, "def f(x):\n    return 1 / x\nsave_tool(f)")
    ended = run("print('a')\nskills.f(0)", gateway=Gateway(store=store))
    assert ended.error["name"] == "ZeroDivisionError" and ended.error.get("line") == 2, ended.error
