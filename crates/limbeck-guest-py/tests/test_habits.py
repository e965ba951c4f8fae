"""Habits of programs whose meaning is certain, and warnings where a program might end in silence."""

import pytest
from gateway import Gateway

ONE = {"id": 1, "total": 2}


@pytest.mark.parametrize(
    "program",
    [
        "tools.get_order(id=1)",
        "tools.mcp__shop__get_order(id=1)",
        "mcp__shop__get_order(id=1)",
        "tools['shop.get_order'](id=1)",
        "tools.call('shop', 'get_order', {'id': 1})",
        "tools.call_tool('shop.get_order', {'id': 1})",
        "tools.call_tool('mcp__shop__get_order', arguments={'id': 1})",
        "import tools\ntools.shop.get_order(id=1)",
        "from tools import shop\nshop.get_order(id=1)",
        "from tools import get_order\nget_order(id=1)",
        "from limbeck import tools as t\nt.shop.get_order(id=1)",
        "import limbeck\nlimbeck.tools.shop.get_order(id=1)",
        "import asyncio\nreturn await tools.get_order(id=1)",
        "import asyncio\nasync def main():\n    return await mcp__shop__get_order(id=1)\nasyncio.run(main())",
        "from limbeck import tools\nimport asyncio\nx = tools.shop.get_order(id=1)\nreturn x",
    ],
)
def test_other_ways_to_name_a_tool_call_it(run, program):
    ended = run(program)
    assert ended.value == ONE
    assert ended.gateway.calls == [("shop.get_order", {"id": 1})]


def test_a_server_is_still_no_tool_and_a_name_that_no_server_has_is_the_gateways_error(run):
    assert "tools.shop is a server" in run("tools.shop(id=1)").error["message"]
    error = run("tools.get_oder(id=1)").error
    assert (error["name"], error["message"]) == ("ToolError", "`get_oder` is not a tool name")


def test_a_full_name_asks_the_store_for_no_saved_function(run):
    assert [name for name, _ in run("mcp__shop__get_order(id=1)").gateway.calls] == ["shop.get_order"]
    # The control: a name that nothing explains is looked up among the saved functions.
    assert run("unheard_of()").error["name"] == "NameError"


@pytest.mark.parametrize(
    "program",
    [
        "import asyncio\nr = asyncio.gather(tools.shop.get_order(id=1), tools.shop.get_order(id=1))\nprint(r)\nr",
        "import asyncio\nr = asyncio.gather(*[tools.shop.get_order(id=1) for _ in range(2)])\nprint(r)\nreturn r",
        "from asyncio import gather\nr = gather(tools.shop.get_order(id=1), tools.shop.get_order(id=1))\nprint(r[0])\nr",
        "import asyncio\nawait asyncio.sleep(0)\nprint(asyncio.gather(tools.shop.get_order(id=1)))\n"
        "await asyncio.gather(tools.shop.get_order(id=1), tools.shop.get_order(id=1))",
        "import asyncio\nr = asyncio.gather(tools.shop.get_order(id=1), tools.shop.get_order(id=1))\nawait r",
    ],
)
def test_a_gather_that_is_not_awaited_is_meant_as_its_results(run, program):
    ended = run(program)
    assert ended.value == [ONE, ONE]
    assert "Future" not in ended.stdout and "pending" not in ended.stdout


@pytest.mark.parametrize(
    "program, value",
    [
        ("async def f(): return 1\nreturn {'a': [f(), f()]}", {"a": [1, 1]}),
        ("import asyncio\nasync def f(): return {2}\nawait asyncio.sleep(0)\nreturn [asyncio.create_task(f())]", [[2]]),
    ],
)
def test_what_was_not_awaited_in_the_value_is_awaited_with_a_warning(run, program, value):
    ended = run(program)
    assert ended.value == value
    assert len(ended.gateway.lines[2]) == 1 and "was awaited" in ended.gateway.lines[2][0]


def test_a_value_without_anything_to_await_has_no_warning(run):
    assert run("return [tools.shop.get_order(id=1)]").gateway.lines[2] == []


def test_a_key_that_is_not_there_names_those_that_are(run):
    error = run("tools.shop.get_order(id=1)['totl']").error
    assert (error["message"], error["hint"]) == ("'totl'", "no field 'totl'; the nearest are 'total'")
    # The control: a program may still ask.
    assert run("r = tools.shop.get_order(id=1)\n[r.get('x'), 'x' in r]").value == [None, False]


def test_text_that_is_no_json_shows_its_beginning(run):
    error = run("import json\njson.loads('plain words')").error
    assert error["hint"] == "the text is not JSON, so use it as it is; it begins with 'plain words'"


def test_the_names_of_a_program_are_those_it_has(run):
    names = run("x = 1\ndir()").value
    assert "x" in names and "tools" in names
    assert not [name for name in names if name.startswith("<")]


def test_a_saved_function_is_not_the_value_of_the_program(run):
    assert run("def f(): return 1\nsave_tool(f)").value is None
    assert run("def f(): return 1\nsave_tool(f)\nf()").value == 1


def test_a_name_that_no_server_has_is_false(run):
    assert run("[bool(tools.slack), bool(tools.shop), 'slack' in tools]").value == [False, True, False]


def test_members_of_the_raw_result_are_known(run):
    assert "unwrapped already" in run("tools.shop.get_order(id=1).structuredContent").error["message"]
    assert "unwrapped already" in run("tools.shop.get_order(id=1)['content'][0]").error["hint"]
    # The control: a field of that name is a field.
    assert run("tools.shop.echo(content='x').content").value == "x"


@pytest.mark.parametrize(
    "program, value",
    [
        ("[o.id for o in r.items]", [10, 11, 12]),
        ("[len(r.items), r.items[0].id, bool(r.items), isinstance(r.items, list)]", [3, 10, True, True]),
        ("r.items", [{"id": 10 + i, "total": 10.5 * (i + 1), "customer": {"name": f"c{i}"}} for i in range(3)]),
        ("f'{len(r.items)} {r.items[0][\"id\"]}'", "3 10"),
        ("[i for i, o in enumerate(r.items, 1)]", [1, 2, 3]),
        ("def ids(page):\n    return [o['id'] for o in page.items or []]\nids(r)", [10, 11, 12]),
        ("r.items.append(1)\n[len(r['items']), len(r.items)]", [4, 4]),
        # The methods, on results and on other objects.
        ("[k for k, v in r.items()]", ["items", "page", "next"]),
        ("sorted({'b': 1, 'a': 2}.items(), key=lambda pair: pair[1])", [["b", 1], ["a", 2]]),
        ("max(counts := {'a': 1, 'b': 2}, key=counts.get)", "b"),
        ("[r.get('page'), list(map(r.get, ['page']))]", [1, [1]]),
        ("class Box:\n    def __init__(self): self.items = [1]\nb = Box()\nb.items += [2]\nb.items", [1, 2]),
        ("e = tools.shop.echo(get=1, keys=[2], pop='x')\n[e.get, e.keys, e.pop, e.get('keys')]", [1, [2], "x", [2]]),
        ("class K:\n    items = 1\nmatch 1:\n    case K.items:\n        x = 'yes'\nx", "yes"),
    ],
)
@pytest.mark.parametrize("before", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_a_field_whose_name_dict_has_as_a_method_is_read_without_parentheses(run, before, program, value):
    assert run(f"{before}r = tools.shop.list_orders()\n{program}").value == value


def test_a_saved_function_reads_such_a_field_too(run):
    program = "def first(page):\n    return page.items[0].id\nsave_tool(first)\nfirst(tools.shop.list_orders())"
    saved = run(program)
    assert saved.value == 10
    assert run("first(tools.shop.list_orders())", gateway=Gateway(store=saved.gateway.store)).value == 10


@pytest.mark.parametrize("wait", ["", "await "])
@pytest.mark.parametrize(
    "read",
    ["json.loads(r)['max']", "json.loads(r.contents[0].text)['max']", "json.loads(r.text)['max']", "json.loads(r[0]['text'])['max']"],
)
def test_the_contents_of_a_resource_have_the_names_of_mcp(run, wait, read):
    ended = run(f"import json\nr = {wait}servers.shop.resources.read('shop://limits')\nreturn {read}")
    assert ended.value == 5
    assert len(ended.gateway.lines[2]) == ("loads(r)" in read)


@pytest.mark.parametrize("wait", ["", "await "])
def test_the_contents_of_a_resource_are_a_list(run, wait):
    program = f"r = {wait}servers.shop.resources.read('shop://limits')\nreturn [type(r).__name__, r, len(r), [c.uri for c in r]]"
    content = {"uri": "shop://limits", "mimeType": "application/json", "text": '{"max": 5}'}
    assert run(program).value == ["list", [content], 1, ["shop://limits"]]


@pytest.mark.parametrize(
    "program, warned",
    [
        ("return tools.shop.get_order", "value is a tool that was not called; write `tools.shop.get_order(...)`"),
        ("r = tools.shop.get_order\nr", "value is a tool that was not called; write `tools.shop.get_order(...)`"),
        ("return {'f': [len, tools.shop.get_order]}", "value.f[1] is a tool that was not called; write `tools.shop.get_order(...)`"),
        ("def f():\n    return tools.shop.get_order(id=1)\nreturn f", "value is the function `f`, which was not called; call it with `(...)`"),
        ("return [lambda: tools.shop.get_order(id=1)]", "value[0] is a function that was not called; call it with `(...)`"),
    ],
)  # fmt: skip
def test_what_was_not_called_is_a_warning(run, program, warned):
    assert run(program).gateway.lines[2] == [warned]


@pytest.mark.parametrize("wait", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
@pytest.mark.parametrize(
    "statement, what",
    [
        ("map(lambda i: tools.shop.get_order(id=i), (1, 2))", "`map`"),
        ("filter(lambda i: tools.shop.get_order(id=i).total > 2, (1, 2))", "`filter`"),
        ("(tools.shop.get_order(id=i) for i in (1, 2))", "a generator expression"),
        ("def get(i):\n    return tools.shop.get_order(id=i)\nmap(get, (1, 2))", "`map`"),
        ("rs = map(lambda i: tools.shop.get_order(id=i), (1, 2))", "`map`"),
    ],
)
def test_calls_that_nothing_asks_for_are_a_warning(run, wait, statement, what):
    ended = run(f"{wait}{statement}\nreturn 'done'")
    assert (ended.value, ended.gateway.calls) == ("done", [])
    assert [f"{what} makes its calls when its items are read" in line for line in ended.gateway.lines[2]] == [True]


@pytest.mark.parametrize(
    "program",
    [
        "map(lambda i: tools.shop.get_order(id=i), (1,))",
        "rs = map(lambda i: tools.shop.get_order(id=i), (1,))\nreturn list(rs)",
        "result = map(lambda i: tools.shop.get_order(id=i), (1,))",
        "rs = [tools.shop.get_order(id=i) for i in (1,)]\nmap(str, rs)\nreturn rs",
    ],
)
def test_calls_that_something_asks_for_are_made(run, program):
    ended = run(program)
    assert (ended.value, ended.gateway.lines[2]) == ([ONE], [])


TITLES = """
async def titles():
    for i in (1, 2):
        yield (await tools.shop.get_order(id=i)).total
"""


@pytest.mark.parametrize(
    "read",
    [
        "return titles()",
        "titles()",
        "return list(titles())",
        "return [t for t in titles()]",
        "out = []\nfor t in titles():\n    out.append(t)\nreturn out",
        "async def main():\n    return list(titles())\nreturn await main()",
        "async def main():\n    return [*titles()]\nimport asyncio\nreturn asyncio.run(main())",
        "return [t async for t in titles()]",
        "async def get():\n    return titles()\nreturn [t async for t in await get()]",
    ],
)
def test_the_items_of_an_async_generator_are_collected_where_they_are_meant(run, read):
    ended = run(TITLES + read)
    assert (ended.value, ended.gateway.lines[2]) == ([2, 4], [])


def test_an_async_generator_without_end_is_read_as_far_as_the_loop_goes(run):
    program = "async def f():\n    i = 0\n    while True:\n        i += 1\n        yield i\nfor i in f():\n    if i > 2:\n        break\nreturn i"
    assert run(program).value == 3


def test_an_async_generator_that_is_awaited_has_a_hint(run):
    assert "[item async for item in f(...)]" in run(TITLES + "return await titles()").error["hint"]
    # The control: a class may have such a name too.
    assert run("async def f():\n    yield 1\ndef f():\n    return [2]\nreturn list(f())").value == [2]


@pytest.mark.parametrize(
    "use",
    [
        "t = Tracker()\nt.add(1)\nt.add(2)\nreturn t.made",
        "async def main():\n    t = Tracker()\n    t.add(1)\n    t.both(2)\n    return t.made\nreturn await main()",
        "import asyncio\nt = Tracker()\nfor i in (1, 2):\n    t.both(i)\nt.made",
    ],
)
def test_a_coroutine_method_that_is_a_statement_is_run(run, use):
    program = "class Tracker:\n    def __init__(self): self.made = []\n    async def add(self, i):\n        self.made.append((await tools.shop.create_order(item=i)).created['item'])\n    async def both(self, i):\n        self.add(i)\n"
    ended = run(program + use)
    assert (ended.value, ended.gateway.lines[2]) == ([1, 2], [])


def test_another_method_of_the_same_name_is_left_as_it_is(run):
    program = "class A:\n    async def add(self, i): pass\nasync def main():\n    s = set()\n    s.add(1)\n    return s\nreturn await main()"
    ended = run(program)
    assert (ended.value, ended.stderr) == ([1], "")


@pytest.mark.parametrize(
    "program, text",
    [
        ("found = next((o for o in r if o == 7), None)\nreturn found", "null"),
        ("next((o for o in r if o == 7), None)", "null"),
        ("found = None\nfound", "null"),
        ("if r:\n    return None\nreturn 1", "null"),
        ("return r.get('coupon')", "null"),
        ("import asyncio\nawait asyncio.sleep(0)\nreturn None if r else 1", "null"),
        # The controls: the program means no value here.
        ("x = 1", ""),
        ("def main():\n    pass\nmain()", ""),
        ("def f():\n    pass\nreturn f()", ""),
        ("print('seen')\nfound = None\nfound", ""),
        ("return", ""),
    ],
)
def test_none_that_is_meant_is_the_value(run, program, text):
    ended = run("r = tools.shop.get_order(id=1)\n" + program)
    assert (ended.kind, ended.text) == (0, text)
