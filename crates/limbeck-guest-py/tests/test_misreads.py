"""Wrong values that a program would return without an error: what they are explained by."""

import json

import pytest
from gateway import SERVERS, Gateway, ToolSpec


def _gateway() -> Gateway:
    """The servers of every test, and tools that wrap their text into an object of one field."""
    wrapped = {
        "list": ToolSpec(lambda a: {"content": "[FILE] sales.csv\n[FILE] notes.txt"}, 5),
        "config": ToolSpec(lambda a: {"content": '{"version": 3}'}, 5),
    }
    return Gateway(servers={**SERVERS, "files": wrapped})


def _warnings(ended):
    return "\n".join(ended.gateway.lines[2])


@pytest.mark.parametrize(
    "program, value, says",
    [
        ("sum(o.get('amount', 0) for o in r['items'])", 0, "line 2: no field 'amount'"),
        ("[o['id'] for o in r['items'] if o.get('state') == 'shipped']", [], "no field 'state'"),
        ("len(r.get('orders', []))", 0, "no field 'orders'; there are 'items', 'page', 'next'"),
        ("[getattr(o, 'state', None) for o in r['items']]", [None, None, None], "no field 'state'"),
        ("try:\n    n = sum(o['amount'] for o in r['items'])\nexcept Exception:\n    n = 0\nreturn n", 0, "line 3: no field 'amount'"),
        ("r.get('content', [{}])[0].get('text', '')", "", "unwrapped already"),
        ("[o for o in r if o == 10]", [], "its lists are 'items'"),
        ("any('10' in str(o) for o in r)", False, "its lists are 'items'"),
        ("l = tools.files.list()\n'sales.csv' in l", False, "the text is in the field 'content'"),
        ("l = tools.files.list()\n[f for f in l if f.endswith('.csv')]", [], "its fields are 'content'"),
        ("l = tools.files.list()\n[f for f in l['content'] if f.endswith('.csv')]", [], "`text.splitlines()`"),
    ],
)
def test_an_empty_value_is_explained_by_what_the_program_read(run, program, value, says):
    ended = run(f"r = tools.shop.list_orders()\n{program}", gateway=_gateway())
    assert ended.value == value
    assert "the value is empty" in _warnings(ended)
    assert says in _warnings(ended)


@pytest.mark.parametrize(
    "program, value",
    [
        # A value that says something; a field that is there, in one of the objects or in all.
        ("'failed' if r.get('error') else 'fine'", "fine"),
        ("sum(o.get('total', 0) for o in r['items'])", 63),
        ("[o for o in [r, r['items'][0]] if o.get('id') == 5]", []),
        ("[o for o in [r, r['items'][0]] if getattr(o, 'id', None) == 5]", []),
        # The program's argument, and empty values without such a read.
        ("[] if input.get('limit') is None else 1", []),
        ("[o for o in r['items'] if o.total < 0]", []),
        ("'sales' in 'text'", False),
        ("'error' in r", False),
    ],
)
def test_other_values_are_not(run, program, value):
    ended = run(f"r = tools.shop.list_orders()\n{program}", input={"a": 1})
    assert (ended.value, _warnings(ended)) == (value, "")


@pytest.mark.parametrize(
    "program, value, says",
    [
        ("json.loads(tools.shop.get_order(id=1))['total']", 2, "parsed already"),
        ("json.loads(tools.files.config())['version']", 3, "`json.loads(result['content'])`"),
        ("json.loads(tools.files.list())['content'][:6]", "[FILE]", "parsed already"),
        ("import asyncio\njson.loads(tools.files.config())['version']", 3, "`json.loads(result['content'])`"),
        ("json.loads(tools.files.config()['content'])['version']", 3, ""),
    ],
)
def test_a_result_that_is_parsed_again_is_given_back(run, program, value, says):
    ended = run(f"import json\n{program}", gateway=_gateway())
    assert ended.value == value
    assert (says in _warnings(ended)) if says else _warnings(ended) == ""


def test_a_method_of_texts_on_an_object_names_the_field_of_its_text(run):
    error = run("tools.files.list().splitlines()", gateway=_gateway()).error
    assert error["message"].endswith("no field 'splitlines'; there are 'content'; the text is in the field 'content'")
    assert run("tools.files.list().text", gateway=_gateway()).error["message"].endswith("the text is in the field 'content'")
    assert run("tools.files.list().content.splitlines()", gateway=_gateway()).value == ["[FILE] sales.csv", "[FILE] notes.txt"]


@pytest.mark.parametrize(
    "value, warning",
    [
        ("{'avg': float('nan'), 'xs': [1, float('inf')]}", "value.avg, value.xs[1]"),
        ("[float('nan')] * 5", "value[0], value[1], value[2] and more"),
        ("[1.5, None]", ""),
    ],
)
def test_numbers_that_json_does_not_have_are_named(run, value, warning):
    ended = run(value)
    assert _warnings(ended).endswith(warning)
    assert bool(_warnings(ended)) == bool(warning)


def test_such_a_number_in_an_argument_is_named_too(run):
    ended = run("tools.shop.echo(x=float('nan'))")
    assert ended.value == {"x": None}
    assert _warnings(ended).endswith("argument.x")


TOTAL = "async def total(n=0):\n    return (await tools.shop.get_order(id=4))['total'] + n\n"


@pytest.mark.parametrize(
    "program, value",
    [
        ("t = total()\nf'total is {t}'", "total is 8"),
        ("f'total is {total()}'", "total is 8"),
        ("if total() == 8:\n    x = 'yes'\nelse:\n    x = 'no'\nx", "yes"),
        ("t = total()\nreturn t + 1", 9),
        ("any(total(i) == 9 for i in (0, 2))", False),
        ("out = []\nasync def add():\n    out.append(await total())\nfor i in range(2):\n    add()\nreturn out", [8, 8]),
        ("out = []\nasync def add():\n    out.append(await total())\nasync def main():\n    add()\n    return out\nawait main()", [8]),
        ("def plain():\n    return total()\nreturn plain()", 8),
        # What a tool is called by does not run coroutines, and no coroutine takes such arguments.
        ("shop = tools.shop\nshop.send\nf'total is {total()}'", "total is 8"),
        ("shop: object = tools['shop']\ndef post():\n    shop.send('a')\nf'total is {total()}'", "total is 8"),
        ("def post(shop):\n    shop.send(text='a')\nf'total is {total()}'", "total is 8"),
        # Already right.
        ("c = total()\ntry:\n    c.send(None)\nexcept RuntimeError:\n    pass\nfinally:\n    c.close()\n1", 1),
        ("import asyncio\nt = total()\nu = total(1)\nawait asyncio.gather(t, u)", [8, 9]),
        ("import asyncio\njobs = [total(i) for i in range(2)]\nawait asyncio.gather(*jobs)", [8, 9]),
        ("import asyncio\nasyncio.run(total())", 8),
        ("t = total()\nawait t", 8),
    ],
)
def test_a_coroutine_function_of_the_program_is_awaited_where_its_result_is_meant(run, program, value):
    ended = run(TOTAL + program)
    assert (ended.value, ended.stderr, _warnings(ended)) == (value, "", "")


@pytest.mark.parametrize(
    "program, value, says",
    [
        ("list(filter(total, [1, 2]))", [1, 2], "coroutine 'total' was never awaited, so it did not run"),
        ("jobs = [total() for _ in range(2)]\nreturn len(jobs)", 2, "`jobs` has a coroutine that was never awaited"),
        ("def step(c):\n    c.send('a')\nprint(total())\nreturn 1", 1, "a printed line has the text of a coroutine"),
        ("s = tools.shop\ns = total()\ns.close()\ndef f():\n    s.send(None)\nprint(total())\nreturn 1", 1, "a printed line has"),
        ("calls = {'a': total}\nprint(calls['a']())\nreturn 1", 1, "a printed line has the text of a coroutine"),
    ],
)
def test_a_coroutine_that_did_not_run_is_a_warning(run, program, value, says):
    ended = run(TOTAL + program)
    assert ended.value == value
    assert says in _warnings(ended)


def test_the_text_of_a_coroutine_in_a_value_is_a_warning(run):
    ended = run(TOTAL + "calls = [total]\nreturn 'total is ' + str(calls[0]())")
    assert json.dumps(ended.value).startswith('"total is <coroutine object total')
    assert "the value has the text of a coroutine in it" in _warnings(ended)


@pytest.mark.parametrize(
    "program, hint",
    [
        ("len(artifacts.open('art_' + '0' * 32))", "`json()`, `text()`"),
        ("artifacts.open('art_' + '0' * 32).read()", "`json()`, `text()`"),
        ("async for page in tools.shop.list_orders():\n    pass", "`for item in await ...`"),
        ("async def f():\n    return [1]\nasync for i in f():\n    pass", "`for item in await ...`"),
        ("o = {'a': 1}\no.a", '`value["name"]`'),
        ("from datetime import *\ndatetime.now(timezone.utc) > datetime(2026, 3, 1)", "tzinfo=timezone.utc"),
    ],
)
def test_a_read_that_fails_has_the_next_step(run, program, hint):
    assert hint in run(program).error["hint"]


@pytest.mark.parametrize("before", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_an_artifact_may_be_awaited_and_its_pages_are_no_reads_of_the_program(run, before):
    ended = run(f"{before}a = artifacts.open('art_' + '0' * 32)\n[o for o in a if o['name'] == 'x']")
    assert (ended.value, _warnings(ended)) == ([], "")
    assert run("a = await artifacts.open('art_' + '0' * 32)\n[o.name for o in a]").value == ["a", "b", "c"]


@pytest.mark.parametrize(
    "program",
    [
        "import asyncio\nemit('a')\nreturn 1",
        "async def main():\n    emit('a')\n    return 1\nawait main()",
        "await emit('a')\nreturn 1",
        "class Bus:\n    def emit(self, text): pass\nasync def main():\n    Bus().emit('b')\n    emit('a')\n    return 1\nawait main()",
    ],
)
def test_a_program_waits_for_what_it_emits(run, program):
    ended = run(program)
    assert (ended.value, ended.gateway.emitted) == (1, ["a"])
    assert ended.gateway.under_way == []


@pytest.mark.parametrize(
    "program, warned",
    [
        ("if r.get('orders') is None:\n    r['orders'] = []\nreturn r['orders']", 0),
        ("r.get('orders')\nr.orders = []\nreturn r.orders", 0),
        ("if r.get('error'):\n    raise ValueError(r['error'])\nreturn [i for i in (1,) if i > r.total]", 0),
        # The controls: what no line assigns, or only prints when it is there.
        ("return r.get('orders', [])", 1),
        ("if r.get('error'):\n    print(r['error'])\nreturn []", 1),
    ],
)
def test_fields_that_the_program_assigns_or_guards_explain_nothing(run, program, warned):
    ended = run("r = tools.shop.get_order(id=1)\n" + program)
    assert ended.value == []
    assert sum("the value is empty" in line for line in ended.gateway.lines[2]) == warned
