"""Calling tools: every form, with and without waiting asynchronously."""

import pytest
from conftest import in_virtual_time
from gateway import Gateway


@pytest.mark.parametrize(
    "call",
    [
        "tools.shop.get_order(id=7)",
        "tools.shop.get_order({'id': 7})",
        "tools['shop']['get_order'](id=7)",
        "tools.shop['get_order']({'id': 7})",
        "call_tool('shop.get_order', {'id': 7})",
        "call_tool('shop.get_order', id=7)",
        "call_tool('mcp__shop__get_order', id=7)",
        "call_tool('shop', 'get_order', {'id': 7})",
    ],
)
@pytest.mark.parametrize("form", ["{}", "await {}", "import asyncio\nx = {}\nx"])
def test_every_form_of_a_call_gives_the_value(run, call, form):
    ended = run(form.format(call))
    assert ended.value == {"id": 7, "total": 14}
    assert ended.gateway.calls == [("shop.get_order", {"id": 7})]


def test_raw_gives_the_result_and_does_not_raise(run):
    program = "a = tools.shop.get_order.raw(id=1)\nb = tools.shop.fail.raw(message='no')\nreturn [a.structuredContent.total, b.isError]"
    assert run(program).value == [2, True]


def test_a_reserved_word_may_be_a_keyword_with_an_underscore(run):
    ended = run("tools.shop.create_order(item='x', from_='y')")
    assert ended.gateway.calls == [("shop.create-order", {"item": "x", "from": "y"})]


def test_a_failed_call_raises_a_tool_error_with_its_fields(run):
    program = """
try:
    tools.shop.fail(message="broken")
except ToolError as error:
    e = error
return [str(e), e.message, e.code, e.server, e.tool, e.hint, e.retryable, isinstance(e, RuntimeError)]
"""
    assert run(program).value == ["broken", "broken", "tool_failed", "shop", "fail", None, False, True]


def test_an_error_that_nobody_caught_has_its_place_and_the_hint_of_the_gateway(run):
    error = run("x = 1\ny = call_tool('shop.' + 'list_ordres')").error
    assert error["name"] == "ToolError"
    assert (error["line"], error["column"]) == (2, 5)
    assert error["hint"] == "the nearest is `tools.shop.list_orders`"


@pytest.mark.parametrize(
    "call, message",
    [
        ("tools.shop.echo(1)", "tools.shop.echo takes keywords or one dict, such as tools.shop.echo(name=value); got a int"),
        ("tools.shop.echo({}, {})", "got 2 arguments"),
        ("tools.shop()", "tools.shop is a server; call one of its tools: tools.shop.tool(...)"),
        ("tools()", "`tools` is called by server and tool: tools.server.tool(...)"),
        ("tools.shop.echo['x']", "tools.shop.echo is a tool; call it first: tools.shop.echo(...)['x']"),
        ("tools.shop.echo.x", "tools.shop.echo is a tool and has no 'x'; call it: tools.shop.echo(...)"),
        ("call_tool(3)", "call_tool takes the name of a tool first; got a int"),
    ],
)
def test_a_call_that_is_written_wrong_says_how_it_is_written(run, call, message):
    ended = run(call)
    assert message in ended.error["message"]
    assert ended.gateway.calls == []


def test_tools_lists_its_servers_and_cannot_be_changed(run):
    program = """
try:
    tools.shop = 1
except AttributeError as error:
    refused = str(error)
return [list(tools), len(tools), "shop" in tools, repr(tools.shop), refused, bool(tools)]
"""
    assert run(program).value == [
        ["shop", "Get-Weird.1"], 2, True, "[tools.shop]", "tools cannot be changed", True,
    ]  # fmt: skip


@in_virtual_time
def test_calls_in_a_program_that_never_waits_follow_one_another(run):
    ended = run("[tools.shop.list_orders(page=p).page for p in (1, 2, 3)]")
    assert ended.value == [1, 2, 3]
    assert ended.took_ms == pytest.approx(901, abs=1)


@in_virtual_time
@pytest.mark.parametrize(
    "program",
    [
        "import asyncio\nawait asyncio.gather(*[tools.shop.list_orders(page=p) for p in range(10)])",
        "import asyncio\nawait asyncio.gather(*(tools.shop.list_orders(page=p) for p in range(10)))",
        "import asyncio\ncalls = [tools.shop.list_orders(page=p) for p in range(10)]\n[(await call).page for call in calls]",
        "import asyncio\ncalls = []\nfor p in range(10):\n    calls.append(tools.shop.list_orders(page=p))\nawait asyncio.gather(*calls)",
        "import asyncio\ncalls = {p: tools.shop.list_orders(page=p) for p in range(10)}\n[(await c).page for c in calls.values()]",
        "import asyncio\nasync with asyncio.TaskGroup() as group:\n    ts = [group.create_task(tools.shop.list_orders(page=p)) for p in range(10)]\n[t.result() for t in ts]",
        "import asyncio\nts = [asyncio.create_task(tools.shop.list_orders(page=p)) for p in range(10)]\n[await t for t in ts]",
        "import asyncio\nts = [asyncio.ensure_future(tools.shop.list_orders(page=p)) for p in range(10)]\nawait asyncio.wait(ts)",
        "import asyncio\nawait asyncio.wait([tools.shop.list_orders(page=p) for p in range(10)])",
        "import asyncio\n[await done for done in asyncio.as_completed([tools.shop.list_orders(page=p) for p in range(10)])]",
        "import asyncio\nawait asyncio.gather(*[asyncio.to_thread(tools.shop.list_orders, page=p) for p in range(10)])",
        "import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.gather(*[loop.run_in_executor(None, call_tool, 'shop.list_orders') for _ in range(10)])",
        "import asyncio\nasync def one(p):\n    return await tools.shop.list_orders(page=p)\nasync def main():\n    return await asyncio.gather(*map(one, range(10)))\nasyncio.run(main())",
        "import asyncio\ndef one(p):\n    return tools.shop.list_orders(page=p)\nawait asyncio.gather(*map(one, range(10)))",
        "import asyncio\nfirst, second = tools.shop.list_orders(page=1), tools.shop.list_orders(page=2)\n[await first, await second]",
        "import asyncio\nfrom functools import partial\nawait asyncio.gather(*[partial(tools.shop.list_orders, page=p)() for p in range(10)])",
        "import asyncio\nawait asyncio.gather(*[acall_tool('shop.list_orders', page=p) for p in range(10)])",
        "import asyncio\nfrom mcp import runtime\nawait asyncio.gather(*[runtime.call_tool('shop', 'list_orders', {'page': p}) for p in range(10)])",
        "import asyncio\nawait asyncio.gather(*[mcp_shop.list_orders(page=p) for p in range(10)])",
        "import asyncio\nawait asyncio.gather(*[call_mcp_tool('mcp__shop__list_orders', {'page': p}) for p in range(10)])",
        "import asyncio\nasync with asyncio.timeout(1):\n    await asyncio.gather(*[tools.shop.list_orders(page=p) for p in range(10)])",
    ],
)  # fmt: skip
def test_gathered_calls_of_300_ms_take_300_ms(run, program):
    ended = run(program)
    assert ended.kind == 0, ended.text
    assert len(ended.gateway.calls) in (2, 10)
    assert ended.took_ms == pytest.approx(301, abs=2)


@pytest.mark.parametrize(
    "program, value",
    [
        # Module level and plain functions mean the answer.
        ("import asyncio\nr = tools.shop.get_order(id=1)\n[type(r).__name__, r['total']]", ["Record", 2]),
        ("import asyncio\ndef f():\n    r = tools.shop.get_order(id=1)\n    return isinstance(r, dict)\nf()", True),
        ("import asyncio, json\njson.dumps(tools.shop.get_order(id=1))", '{"id": 1, "total": 2}'),
        ("import asyncio\n[o.id for o in tools.shop.list_orders(page=1)['items']]", [10, 11, 12]),
        ("import asyncio\nf'{tools.shop.get_order(id=1)}'", "{'id': 1, 'total': 2}"),
        ("import asyncio\ntools.shop.get_order(id=1).total + tools.shop.get_order(id=2).total", 6),
        ("import asyncio\nif tools.shop.get_order(id=1):\n    x = 'yes'\nx", "yes"),
        ("import asyncio\nshop = tools.shop\nr = shop.get_order(id=1)\ntype(r).__name__", "Record"),
        ("import asyncio\nclass Api:\n    def __init__(self):\n        self.shop = tools.shop\n    def get(self, i):\n        r = self.shop.get_order(id=i)\n        return type(r).__name__\nApi().get(1)", "Record"),
        ("import asyncio\ndef get(i):\n    return tools.shop.get_order(id=i)\na = get(1)\nb = await get(2)\n[a.total, b.total]", [2, 4]),
        ("import asyncio\nfor i in range(2):\n    tools.shop.create_order(item=str(i))\nstore.get('x')", None),
        ("import asyncio, io\nwith io.StringIO() as f:\n    print(tools.shop.get_order(id=1), file=f)\n    x = f.getvalue()\nx", "{'id': 1, 'total': 2}\n"),
        ("import asyncio\nasync def f():\n    tools.shop.create_order(item='x')\n    return 1\nawait f()", 1),
        ("import asyncio, json\njson.dumps({'a': tools.shop.get_order(id=1), 'b': [tools.shop.echo(x=1)]})", '{"a": {"id": 1, "total": 2}, "b": [{"x": 1}]}'),
        ("import asyncio\ndef f(x):\n    return x\nimport json\njson.dumps([f(tools.shop.echo(x=1))])", '[{"x": 1}]'),
        ("import asyncio\nt = tools.shop.slow()\n', '.join([tools.shop.slow(), 'x', *[t, t]])", "done, x, done, done"),
        ("import asyncio, re\nt = tools.shop.slow()\npair = [t, t]\n[re.findall(r'\\w+', t), '|'.join(pair)]", [["done"], "done|done"]),
        ("import asyncio\n(x := tools.shop.get_order(id=1))\nx.total", 2),
        ("import asyncio\nx = [tools.shop.get_order(id=i) for i in (1, 2)]\nx", [{"id": 1, "total": 2}, {"id": 2, "total": 4}]),
        ("import asyncio\nx = tools.shop.get_order(id=1)\ny = {**x, 'more': 1}\nreturn y", {"id": 1, "total": 2, "more": 1}),
    ],
)  # fmt: skip
def test_a_call_that_nobody_awaits_is_its_answer(run, program, value):
    assert run(program).value == value


def test_answers_that_come_while_another_is_waited_for_are_kept(run):
    program = """
import asyncio
early = asyncio.create_task(tools.shop.get_order(id=1))
await asyncio.sleep(0)
def blocking():
    return call_tool("shop.list_orders", page=1)["page"]
late = blocking()
return [late, (await early).total]
"""
    assert run(program).value == [1, 2]


def test_a_call_that_failed_and_that_nobody_looked_at_is_named_at_the_end(run):
    program = "import asyncio\ncalls = [tools.shop.fail(message='unseen'), tools.shop.get_order(id=1)]\nawait asyncio.sleep(1)\n1"
    ended = run(program)
    assert ended.value == 1
    assert ended.stderr == "tools.shop.fail failed, and the program did not use its result: unseen\n"


def test_a_thousand_calls_at_once_belong_to_their_answers(run):
    program = """
import asyncio
answers = await asyncio.gather(*[tools.shop.echo(i=i) for i in range(1000)])
return [a.i for a in answers] == list(range(1000))
"""
    assert run(program).value is True


def test_executors_run_their_functions_and_calls_in_them_overlap_when_they_are_tools(run):
    program = """
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(max_workers=4) as pool:
    total = sum(pool.map(lambda i: tools.shop.get_order(id=i).total, range(4)))
    futures = {pool.submit(tools.shop.get_order, id=i): i for i in range(3)}
    found = sorted((futures[f], f.result().total) for f in as_completed(futures))
    failing = pool.submit(tools.shop.fail)
return [total, found, type(failing.exception()).__name__]
"""
    assert run(program).value == [12, [[0, 0], [1, 2], [2, 4]], "ToolError"]


def test_the_catalogue_and_the_store_answer_with_and_without_await(run):
    program = """
found = {search}("orders", limit=2)
described = {describe}(tools.shop.get_order)
same = {describe}("shop.get_order") == described == {describe}("shop", "get_order")
listed = {describe}("shop")["tools"]
names = [s["name"] for s in {servers}()]
{set}("k", {{"at": {{1, 2}}}})
kept = {get}("k")
return [[f.tool for f in found], described.name, same, len(listed), names, kept.at, {get}("none", 5)]
"""
    functions = {"search": "search", "describe": "describe", "servers": "servers", "set": "store.set", "get": "store.get"}
    expected = [["list_orders"], "mcp__shop__get_order", True, 6, ["shop", "Get-Weird.1"], [1, 2], 5]
    plain = run(program.format(**functions))
    assert plain.value == expected
    awaiting = {name: f"await {text}" for name, text in functions.items()}
    awaited = program.replace("{describe}(\"shop\")[", "({describe}(\"shop\"))[").format(**awaiting)
    assert run(awaited.replace("in await servers()", "in (await servers())")).value == expected


def test_servers_can_be_called_and_each_offers_resources_and_prompts(run):
    program = """
weird = servers["Get-Weird.1"]
return [
    {a}servers.shop.resources.list(), {a}weird.resources.templates(), {a}servers.shop.resources.read("x:1"),
    {a}servers.shop.prompts.list(), {a}weird.prompts.get("p", {{"a": 1}}, b=2), {a}weird.prompts.get("q"),
    list(servers), repr(servers.shop), repr(weird.prompts), len({a}servers()),
]
"""
    expected = [
        ["shop", "resources/list", {}],
        ["Get-Weird.1", "resources/templates/list", {}],
        ["shop", "resources/read", {"uri": "x:1"}],
        ["shop", "prompts/list", {}],
        ["Get-Weird.1", "prompts/get", {"name": "p", "arguments": {"a": 1, "b": 2}}],
        ["Get-Weird.1", "prompts/get", {"name": "q"}],
        ["shop", "Get-Weird.1"], "[servers.shop]", '[servers["Get-Weird.1"].prompts]', 2,
    ]  # fmt: skip
    assert run(program.format(a="")).value == expected
    assert run(program.format(a="await ")).value == expected


def test_what_is_no_offer_of_a_server_says_what_there_is(run):
    wrong = {
        "servers.shop.list_orders()": "its tools are `tools.shop`",
        "servers.shop.resources()": "servers.shop.resources.list()",
        "servers.shop.resources.read(5)": "takes a string; got a int",
        "servers.shop.prompts.get('p', [1])": "takes a dict of arguments or keywords; got a list",
        "servers.absent.prompts.list()": "no server `absent`",
    }
    for expression, message in wrong.items():
        assert message in str(run(f"return {expression}").error), expression


def test_the_budget_counts_calls_and_time(run):
    program = """
import time
before = budget.calls
tools.shop.get_order(id=1)
time.sleep(1)
return [budget.calls - before, budget.calls_remaining < 10_000, budget.elapsed_ms > 1000, budget.remaining_ms < 59_000]
"""
    assert run(program).value == [1, True, True, True]


def test_what_the_budgets_of_the_user_leave_is_asked_of_the_gateway(run):
    assert run("return budget.remaining()[0]['left']").value == 3
    assert run("[mail] = await budget.remaining()\nreturn mail['unit']").value == "calls"
