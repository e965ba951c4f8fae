"""The calls that stand in a program, judged before it runs."""

import pytest
from gateway import Gateway


def site(run, program):
    """The only site of a program."""
    (found,) = run(program, gateway=Gateway(judges=False)).gateway.sites
    return found


@pytest.mark.parametrize(
    "call, server, tool",
    [
        ("tools.shop.echo(a=1)", "shop", "echo"),
        ("tools['shop']['echo'](a=1)", "shop", "echo"),
        ("tools.shop.echo.raw(a=1)", "shop", "echo"),
        ("tools.shop.echo({'a': 1})", "shop", "echo"),
        ("call_tool('shop.echo', {'a': 1})", "shop", "echo"),
        ("call_tool('shop', 'echo', {'a': 1})", "shop", "echo"),
        ("call_tool('mcp__shop__echo', a=1)", None, "mcp__shop__echo"),
        ("call_mcp_tool('mcp__shop__echo', {'a': 1})", None, "mcp__shop__echo"),
        ("call_mcp_tool('mcp__shop__echo', params={'a': 1})", None, "mcp__shop__echo"),
        ("call_mcp_tool('shop', 'echo', {'a': 1})", "shop", "echo"),
        ("runtime.call_tool('shop', 'echo', {'a': 1})", "shop", "echo"),
        ("runtime.call_tool('shop', 'echo', arguments={'a': 1})", "shop", "echo"),
        ("mcp_shop.echo(a=1)", "shop", "echo"),
        ("mcp_servers['shop'].echo(a=1)", "shop", "echo"),
    ],
)
@pytest.mark.parametrize("form", ["{}", "await {}", "from mcp import runtime\nx = {}"])
def test_every_form_of_a_call_is_seen(run, call, server, tool, form):
    found = site(run, form.format(call))
    assert (found.get("server"), found["tool"]) == (server, tool)
    assert found["arguments"] == [{"name": "a", "value": 1}]
    assert found["complete"] is True
    assert found["awaited"] is True
    assert found["positional"] == 0


@pytest.mark.parametrize(
    "program",
    [
        "s = tools.shop\ns.echo(a=1)",
        "s: object = tools['shop']\nr = await s.echo(a=1)",
        "e = tools.shop.echo\ne(a=1)",
        "t = tools\ns = t.shop\ne = s.echo\ne(a=1)",
        "s = mcp_servers['shop']\ns.echo(a=1)",
        "def f():\n    s = tools.shop\n    return s.echo(a=1)\nf()",
    ],
)
def test_calls_through_a_name_are_seen(run, program):
    found = site(run, program)
    assert (found["server"], found["tool"], found["arguments"]) == ("shop", "echo", [{"name": "a", "value": 1}])


@pytest.mark.parametrize(
    "program",
    [
        "s = tools.shop\ns = str\ns.lower('A')",
        "s = tools.shop\nfor s in ['A']:\n    s.lower()",
        "def f(s):\n    return s.lower()\ns = tools.shop\nf('A')",
        "tools = str\ns = tools.lower\ns('A')",
        "a = str\ns = a.lower\ns('A')",
    ],
)
def test_names_that_may_stand_for_something_else_are_not_followed(run, program):
    ended = run(program)
    assert ended.gateway.sites == []
    assert ended.kind == 0, ended.text


@pytest.mark.parametrize(
    "arguments, positional",
    [("'x'", 1), ("5", 1), ("[1]", 1), ("f'{x}'", 1), ("'x', 2", 2), ("x, 2", 1), ("x", 0), ("None", 0), ("{'a': 1}", 0), ("*x", 0)],
)
def test_arguments_that_are_surely_not_named_are_counted(run, arguments, positional):
    assert site(run, f"x = {{}}\ntools.shop.echo({arguments})")["positional"] == positional


def test_imported_functions_are_seen(run):
    found = site(run, "from mcp.servers.shop import get_order as one\nawait one(id=1)")
    assert (found["server"], found["tool"], found["arguments"]) == ("shop", "get_order", [{"name": "id", "value": 1}])


@pytest.mark.parametrize(
    "arguments, expected, complete",
    [
        ("a=x, b=[1, {'c': None}]", [{"name": "a"}, {"name": "b", "value": [1, {"c": None}]}], True),
        ("**x", [], False),
        ("{'a': 1, **x}", [{"name": "a"}], False),
        ("{'a': 1, x: 2, 'b': 3}", [{"name": "a"}, {"name": "b", "value": 3}], False),
        ("{'a': 1, 'a': 2}", [{"name": "a", "value": 2}], True),
        ("a=1, **x", [{"name": "a", "value": 1}], False),
        ("x", [], False),
        ("{**{'a': 1}}", [{"name": "a", "value": 1}], True),
        ("from_=-1.5", [{"name": "from", "value": -1.5}], True),
        ("a=f'{x}', b=(1, 2), c='é'", [{"name": "a"}, {"name": "b", "value": [1, 2]}, {"name": "c", "value": "é"}], True),
        ("", [], True),
        ("None", [], True),
    ],
)
def test_constants_are_told_and_what_is_not_known_is_not(run, arguments, expected, complete):
    found = site(run, f"x = {{'z': 1}}\ntools.shop.echo({arguments})")
    assert (found["arguments"], found["complete"]) == (expected, complete)


def test_the_place_is_that_of_the_call_in_characters(run):
    found = site(run, "x = 'ééé'; y = tools.shop.echo(a=1)")
    assert (found["line"], found["column"]) == (1, 16)


@pytest.mark.parametrize(
    "program",
    [
        "tools = None\ndef f():\n    tools.shop.nope()",
        "def f(tools):\n    tools.shop.nope()",
        "from somewhere_else import tools\n",
        "for tools in []:\n    tools.shop.nope()",
        "class A:\n    tools = 1\nname = 'x'\ndef f():\n    tools.shop[name]()",
        "call_tool(input)\n" if False else "x = 'nope'\ndef f():\n    call_tool(x)",
        "def call_tool(x):\n    return 1\ncall_tool('shop.nope')",
    ],
)
def test_names_with_another_meaning_are_not_judged(run, program):
    assert run(program).gateway.sites == []


@pytest.mark.parametrize(
    "program, message, line, column",
    [
        ("tools.shop.create_order(item='x')\ntools.shop.nope()", "server `shop` has no tool `nope`", 2, 1),
        ("tools.nope.x()", "there is no server `nope`", 1, 1),
        ("tools.shop.get_order(idd=1)", "tools.shop.get_order: unknown argument `idd`", 1, 1),
        ("if False:\n    x = tools.shop.get_order()", "tools.shop.get_order: missing argument `id`", 2, 9),
        ("async def f():\n    return tools.shop.get_order(id=1)['total']\nawait f()", "is not awaited", 2, 12),
        ("async def f():\n    o = tools.shop.get_order(id=1)\n    return o.total\nawait f()", "is not awaited", 2, 9),
        ("async def f():\n    for o in tools.shop.list_orders():\n        pass\nawait f()", "is not awaited", 2, 14),
        ("async def f():\n    print(tools.shop.list_orders())\nawait f()", "is not awaited", 2, 11),
        ("async def f():\n    return mcp_shop.list_orders()['content']\nawait f()", "is not awaited", 2, 12),
        ("async def f():\n    o = tools.shop.get_order(id=1)\n    return [1, o['total']]\nawait f()", "is not awaited", 2, 9),
        ("async def f():\n    o = tools.shop.get_order(id=1)\n    return {'t': o.total}\nawait f()", "is not awaited", 2, 9),
    ],
)  # fmt: skip
def test_a_program_that_would_fail_fails_before_its_first_call(run, program, message, line, column):
    ended = run(program)
    assert ended.kind == 4
    error = ended.error
    assert message in error["message"]
    assert (error["line"], error["column"], error["hint"]) == (line, column, "a hint")
    assert ended.gateway.calls == []


def test_all_findings_are_told(run):
    error = run("tools.shop.a()\ntools.shop.b()").error
    assert error["message"] == "line 1: server `shop` has no tool `a`\nline 2: server `shop` has no tool `b`"
    assert error["line"] == 1


@pytest.mark.parametrize(
    "program",
    [
        "import asyncio\nasync def f():\n    ts = [tools.shop.get_order(id=i) for i in (1, 2)]\n    return await asyncio.gather(*ts)\nawait f()",
        "import asyncio\nasync def f():\n    t = tools.shop.get_order(id=1)\n    u = tools.shop.get_order(id=2)\n    return await asyncio.gather(t, u)\nawait f()",
        "import asyncio\nasync def f():\n    t = asyncio.create_task(tools.shop.get_order(id=1))\n    return await t\nawait f()",
        "async def f():\n    c = tools.shop.get_order(id=1)\n    return await c\nawait f()",
        "async def f():\n    return tools.shop.get_order(id=1)\nawait f()",
        "import asyncio\nasync def f():\n    t = tools.shop.get_order(id=1)\n    ts = [t]\n    return await asyncio.gather(*ts)\nawait f()",
        "async def f():\n    text = call_mcp_tool('mcp__shop__get_order', {'id': 1})\n    return text['id']\nawait f()",
        "async def f():\n    def g():\n        return tools.shop.get_order(id=1)['id']\n    return g()\nawait f()",
        "async def f():\n    tools.shop.create_order(item='x')\nawait f()",
    ],
)  # fmt: skip
def test_calls_that_are_awaited_elsewhere_are_no_mistake(run, program):
    ended = run(program)
    assert ended.kind == 0, ended.text
    assert all(found["awaited"] for found in ended.gateway.sites)


@pytest.mark.parametrize(
    "program, judged",
    [
        ("try:\n    tools.shop.nope()\nexcept ToolError:\n    x = 1\nx", 0),
        ("try:\n    tools.shop.nope()\nexcept (KeyError, Exception) as e:\n    x = 1\nx", 0),
        ("try:\n    tools.shop.nope()\nexcept:\n    x = 1\nx", 0),
        ("try:\n    tools.shop.nope()\nexcept* ToolError:\n    x = 1\nx", 0),
        ("import contextlib\nwith contextlib.suppress(ToolError):\n    tools.shop.nope()\n1", 0),
        ("import asyncio\nawait asyncio.gather(tools.shop.nope(), return_exceptions=True)\n1", 0),
        ("def f():\n    tools.shop.nope()\ntry:\n    f()\nexcept ToolError:\n    pass\n1", 0),
        ("def attempt(f):\n    try:\n        f()\n    except ToolError:\n        pass\nattempt(lambda: tools.shop.nope())\n1", 0),
        ("def f():\n    tools.shop.nope()\ntry:\n    x = 1\nexcept ToolError:\n    pass\nf()", 1),
        ("try:\n    x = 1\n    tools.shop.nope()\nexcept KeyError:\n    pass", 1),
        ("try:\n    x = 1\nexcept ToolError:\n    tools.shop.nope()", 1),
        ("with open('/tmp/x') as f:\n    tools.shop.nope()", 1),
    ],
)
def test_a_call_whose_refusal_is_caught_is_a_try_and_not_judged(run, program, judged):
    ended = run(program)
    assert len([found for found in ended.gateway.sites if not found.get("guarded")]) == judged
    assert ended.kind == (4 if judged else 0)


def test_a_program_without_calls_asks_nobody(run):
    assert run("print(1 + 1)").gateway.last_id == 0


def test_many_calls_are_bounded(run):
    program = "\n".join("tools.shop.echo(a='" + "x" * 200 + "')" for _ in range(600))
    gateway = run(f"def f():\n    pass\nreturn 1\n{program}").gateway
    assert len(gateway.sites) == 500
    program = "\n".join("tools.shop.echo(a='" + "x" * 2_000 + "')" for _ in range(200))
    assert 0 < len(run(f"return 1\n{program}").gateway.sites) < 200


@pytest.mark.parametrize(
    "program, repeat",
    [
        ("tools.shop.echo(a=1)", None),
        ("for x in [1, 2]:\n    tools.shop.echo(a=x)", {"at_most": 2}),
        ("for i in range(3):\n    for x in (1, 2):\n        tools.shop.echo(a=x)", {"at_most": 6}),
        ("xs = [1]\nfor x in xs:\n    tools.shop.echo(a=x)", "many"),
        ("[tools.shop.echo(a=x) for x in 'ab']", "many"),
        ("for x in tools.shop.echo(a=[1]):\n    pass", None),
        ("while True:\n    tools.shop.echo(a=1)\n    break", "endless"),
        ("import itertools\nfor i in itertools.count():\n    tools.shop.echo(a=i)\n    break", "endless"),
        ("def f():\n    tools.shop.echo(a=1)\nf()\nf()", {"at_most": 2}),
        ("def main():\n    tools.shop.echo(a=1)", None),
        ("def f(n):\n    tools.shop.echo(a=1)\n    if n: f(n - 1)\nf(1)", "many"),
    ],
)
def test_how_often_a_call_is_made_is_what_its_loops_say(run, program, repeat):
    assert site(run, program).get("repeat") == repeat


@pytest.mark.parametrize(
    "program, reads",
    [
        ("o = tools.shop.echo(a={'b': 1})\no['a']['b']", ["a", "a.b"]),
        ("o = await tools.shop.echo(a={'b': 1})\no.a.b", ["a", "a.b"]),
        ("for x in tools.shop.echo(a=[{'b': 1}])['a']:\n    x['b']", ["a", "a.[].b"]),
        ("[x.b for x in tools.shop.echo(a=[{'b': 1}]).a]", ["a", "a.[].b"]),
        ("o = tools.shop.echo(a=1)\no.get('a'); o.items()", []),
        ("o = tools.shop.echo(a=1)\no = {'a': 2}\no['a']", []),
        ("o = tools.shop.echo(a=1)\no['c'] = 2\no['c']", ["c?"]),
        ("o = tools.shop.echo(a=1)\ntry:\n    o['c']\nexcept KeyError:\n    pass", ["c?"]),
        ("o = tools.shop.echo.raw(a=1)\no['content']", []),
        ("s = tools.shop\no = s.echo(a={'b': 1})\no.a", ["a"]),
        ("out = []\nn = {}\nn['x'] = 1\no = tools.shop.echo(a=1)\nout.append(o['a'])", ["a"]),
        ("def f(out):\n    out.append(1)\nout = []\nf(out)\no = tools.shop.echo(a=1)\no['a']", ["a?"]),
        ("n = {'r': {}}\nn['r']['x'] = 1\no = tools.shop.echo(a=1)\no['a']", ["a?"]),
        ("import asyncio\nb, o = await asyncio.gather(asyncio.sleep(0), tools.shop.echo(a=1))\nprint(b, o['a'])", ["a"]),
        ("import asyncio\nb, o = await asyncio.gather(*[], asyncio.sleep(0), tools.shop.echo(a=1))\nprint(o['a'])", []),
    ],
)
def test_reads_of_a_result_are_followed_in_a_straight_line(run, program, reads):
    found = site(run, program).get("reads", [])
    assert [".".join(read["path"]) + "?" * read["optional"] for read in found] == reads


@pytest.mark.parametrize(
    "program, uses",
    [
        ("o = tools.shop.get_order(id=1)\ntools.shop.echo(a=o.id)", [0]),
        ("tools.shop.echo(a=tools.shop.get_order(id=1))", [1]),
        ("out = []\nfor o in tools.shop.list_orders():\n    out.append(o['id'])\ntools.shop.echo(a=out)", [0]),
        ("def get():\n    return tools.shop.get_order(id=1)\ntools.shop.echo(a=get())", [0]),
        ("def put(x):\n    tools.shop.echo(a=x)\nput(tools.shop.get_order(id=1))", [1]),
        ("if tools.shop.get_order(id=1):\n    tools.shop.echo(a=1)", None),
    ],
)
def test_a_result_goes_with_its_names_into_arguments(run, program, uses):
    sites = run(program, gateway=Gateway(judges=False)).gateway.sites
    (echo,) = [found for found in sites if found["tool"] == "echo"]
    assert echo.get("uses") == uses


def test_calls_under_names_that_are_not_known_are_counted(run):
    gateway = run("n = 'echo'\ntools.shop[n](a=1)\ncall_tool(f'shop.{n}', {'a': 1})\ntools.shop.echo(a=1)").gateway
    assert [(place["line"], place["column"]) for place in gateway.dynamic] == [(2, 1), (3, 1)]


def test_a_program_that_is_only_examined_is_judged_and_does_not_run(run):
    ended = run("print('ran')\ntools.shop.echo(a=1)", gateway=Gateway(mode="check"))
    assert (ended.kind, ended.text, ended.stdout) == (0, "", "")
    assert [found["tool"] for found in ended.gateway.sites] == ["echo"]
    assert ended.gateway.calls == []
    assert run("print('ran')", gateway=Gateway(mode="check")).gateway.last_id == 1
