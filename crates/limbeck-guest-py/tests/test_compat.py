"""The functions of the two earlier systems that ran Python."""

import pytest
from gateway import Gateway

SAVED = {"limbeck:saved_tools": {}}


# --- tools by their full names ---


@pytest.mark.parametrize("form", ["{}", "await {}"])
@pytest.mark.parametrize(
    "expression, value",
    [
        ("call_mcp_tool('mcp__shop__get_order', {'id': 7})", '{"id": 7, "total": 14}'),
        ("call_mcp_tool('mcp__Get-Weird.1__Get-Weird.name')", "plain text"),
        ("call_mcp_tool('shop', 'get_order', {'id': 7})", {"id": 7, "total": 14}),
        ("call_mcp_tool(tool_name='mcp__shop__get_order', params={'id': 7})", '{"id": 7, "total": 14}'),
        ("call_mcp_tool('mcp__shop__fail', {'message': 'refused'})", "refused"),
        ("get_tool_schema('mcp__shop__nope')", None),
    ],
)
def test_a_full_name_calls_a_tool_and_gives_its_text(run, form, expression, value):
    assert run(f"import json\nx = {form.format(expression)}\nreturn x").value == value


def test_the_text_is_a_string_and_also_what_is_in_it(run):
    program = """
import json
text = call_mcp_tool("mcp__shop__list_orders", {"page": 1})
return [
    isinstance(text, str), json.loads(text)["page"], text["page"], text.page, text["items"][0]["id"],
    text.get("none", 5), len(text) == len(str(text)), text.upper()[:8], "page" in text, text + "!" == str(text) + "!",
]
"""
    assert run(program).value == [True, 1, 1, 1, 10, 5, True, '{"ITEMS"', True, True]


def test_a_call_that_was_refused_raises_with_the_prefix(run):
    program = """
try:
    call_mcp_tool("mcp__shop__" + "nope")
except Exception as error:
    return [str(error), error.code, isinstance(error, ToolError)]
"""
    assert run(program).value == ["MCP Error [unknown_tool]: server `shop` has no tool `nope`", "unknown_tool", True]


@pytest.mark.parametrize("wait", ["", "await "])
def test_discovery_gives_schemas_with_and_without_await(run, wait):
    program = f"""
found = {wait}search_tools("orders", 3)
every = {wait}discover_mcp_tools()
some = {wait}discover_mcp_tools(["CREATES", "plain"])
one = {wait}get_tool_schema("mcp__shop__get_order")
return [found[0]["name"], len(every), [s["name"] for s in some], one["parameters"] == one["inputSchema"], sorted(one)[:4]]
"""
    assert run(program).value == [
        "mcp__shop__list_orders", 10, ["mcp__shop__create-order"], True, ["call", "description", "inputSchema", "name"],
    ]  # fmt: skip


# --- mcp.runtime ---


@pytest.mark.parametrize(
    "beginning", ["from mcp import runtime", "import mcp.runtime as runtime", "import mcp.runtime\nruntime = mcp.runtime", ""]
)
def test_runtime_is_there_however_it_is_imported(run, beginning):
    program = f"{beginning}\nresult = await runtime.call_tool('shop', 'get_order', {{'id': 2}})\nreturn result['structuredContent']['total']"
    assert run(program).value == 4


@pytest.mark.parametrize("wait", ["", "await "])
def test_every_name_of_runtime_answers(run, wait):
    program = f"""
from mcp import runtime
def of(value):
    return value
names = {wait}runtime.discovered_servers()
detailed = {wait}runtime.discovered_servers(detailed=True)
loaded = {wait}runtime.list_servers()
tools_ = {wait}runtime.list_tools("shop")
docs = {wait}runtime.query_tool_docs("shop")
one = {wait}runtime.query_tool_docs("shop", tool="create_order", detail="full")
found = {wait}runtime.search_tool_docs("orders", limit=1)
return {{
    "names": names, "detailed": detailed[0], "loaded": loaded == runtime.list_servers_sync(), "tool": sorted(tools_[0]),
    "sync": sorted(runtime.list_tools_sync("shop")[2].items())[0], "docs": sorted(docs[0]),
    "one": [one["tool"], one["toolAlias"], "inputSchema" in one], "found": found[0]["serverAlias"],
    "twins": [runtime.query_tool_docs_sync("shop") == docs, runtime.search_tool_docs_sync("orders", limit=1) == found],
    "described": sorted(runtime.describe_server("Get-Weird.1")), "all": len(runtime.list_loaded_server_metadata()),
    "summary": "Get-Weird.1" in runtime.capability_summary(), "error": issubclass(runtime.MCPError, RuntimeError),
}}
"""
    assert run(program).value == {
        "names": ["shop", "Get-Weird.1"],
        "detailed": {"name": "shop", "description": "shop."},
        "loaded": True,
        "tool": ["description", "inputSchema", "name"],
        "sync": ["alias", "create_order"],
        "docs": ["description", "server", "serverAlias", "tool", "toolAlias"],
        "one": ["create-order", "create_order", True],
        "found": "shop",
        "twins": [True, True],
        "described": ["alias", "cwd", "name", "tools"],
        "all": 2,
        "summary": True,
        "error": True,
    }


def test_generated_files_are_modules(run):
    program = """
import mcp_shop
from mcp_shop import ShopClient, shop_get_order
from mcp_shop import *
a = await mcp_shop.get_order(id=1)
b = await ShopClient("http://localhost:3000", token="x").get_order(id=1)
try:
    import mcp_nothing
except ModuleNotFoundError as error:
    missing = error.name
return [a == b == await get_order(id=1), shop_get_order.__name__, missing]
"""
    assert run(program).value == [True, "shop_get_order", "mcp_nothing"]


def test_all_ways_to_one_tool_are_the_same(run):
    program = """
from mcp.servers.shop import get_order
from mcp.servers.shop import *
import mcp.servers.get_weird_1 as weird
from mcp import runtime
a = await mcp_shop.get_order(id=1)
b = await mcp_servers["shop"].get_order(id=1)
c = await runtime.call_tool("shop", "get_order", {"id": 1})
d = await get_order(id=1)
return [a == b == c == d, TOOL_MAP["create_order"], len(TOOLS), get_order.__doc__, sorted(weird.TOOL_MAP), LOADED_MCP_SERVERS]
"""
    assert run(program).value == [
        True, "create-order", 6, "Reads one order.", ["a_b", "a_b_2", "get_weird_name", "import_"], ["shop", "Get-Weird.1"],
    ]  # fmt: skip


def test_aliases_lead_to_the_tools_they_stand_for(run):
    program = """
return [
    (await mcp_get_weird_1.get_weird_name())["content"][0]["text"], (await mcp_get_weird_1.import_()).title,
    (await mcp_get_weird_1.a_b())["content"][0]["text"], (await mcp_get_weird_1.a_b_2())["content"][0]["text"],
]
"""
    ended = run(program)
    assert ended.value[:2] == ["plain text", "t"]
    assert [call for call, _ in ended.gateway.calls] == [
        "Get-Weird.1.Get-Weird.name", "Get-Weird.1.import", "Get-Weird.1.a.b", "Get-Weird.1.a-b",
    ]  # fmt: skip


def test_a_number_of_an_alias_is_left_to_the_gateway(run):
    ended = run("return (await mcp_get_weird_1.a_b_2())['content'][0]['text']")
    assert ended.value == "second"
    # No listing was asked for.
    assert ended.gateway.last_id == 1


@pytest.mark.parametrize(
    "listing",
    [
        "dir(tools.shop)", "list(tools.shop)", "dir(mcp_shop)", "repr(tools.shop)", "runtime.list_tools('shop')",
        "runtime.query_tool_docs_sync('shop')", "discover_mcp_tools()", "search_tools('orders')",
        "runtime.search_tool_docs('orders')",
    ],
)  # fmt: skip
def test_listing_the_tools_of_a_server_whose_list_was_cut_is_one_warning(run, listing):
    cut = "6 tools are known; the server offers more than 6 tools: the rest was left out"
    ended = run(f"{listing}\n{listing}\nreturn 1", gateway=Gateway(incomplete={"shop": cut}))
    assert ended.value == 1
    assert ended.gateway.lines[2] == [f"not all tools of server `shop` are listed: {cut}"]
    # The control: servers whose lists are whole.
    assert run(f"{listing}\nreturn 1").gateway.lines[2] == []


def test_a_result_is_the_dict_of_the_protocol_and_the_value_in_it(run):
    program = """
r = await mcp_shop.get_order(id=3)
t = await mcp_get_weird_1.import_()
try:
    r["nothing"]
except KeyError as error:
    missing = str(error)
return [r["content"][0]["type"], r.structuredContent.id, r["total"], r.total, t["title"], t.count, missing, r.get("isError")]
"""
    assert run(program).value == ["text", 3, 6, 6, "t", 3, "'nothing'", None]


def test_an_is_error_result_is_returned_and_a_refused_call_raises_mcp_error(run):
    program = """
from mcp.runtime import MCPError
failed = await mcp_shop.fail(message="no stock")
try:
    await mcp_servers["shop"].nope()
except MCPError as error:
    refused = [type(error).__name__, error.code]
return [failed["isError"], failed["content"][0]["text"], refused]
"""
    assert run(program).value == [True, "no stock", ["MCPError", "unknown_tool"]]


def test_aliases_follow_the_old_rules():
    from limbeck_guest.aliases import aliases, server_alias, tool_alias

    assert [server_alias(name) for name in ("Get-Weird.name", "1mcp", "A B", "déjà")] == ["get_weird_name", "_1mcp", "a_b", "d_j_"]
    assert [tool_alias(name) for name in ("import", "Class", "9x", "ok")] == ["import_", "class_", "_9x", "ok"]
    assert aliases(["a-b", "a.b", "a b"]) == {"a_b": "a-b", "a_b_2": "a.b", "a_b_3": "a b"}


# --- save_tool ---


def test_a_saved_function_is_there_in_the_next_program_and_only_when_it_is_used(run):
    first = """
import json, math
LIMIT = 3
@save_tool
def double(x):
    "Doubles."
    return json.loads(json.dumps(x)) * 2
def twice(x):
    return double(double(x))
save_tool(twice)
"""
    gateway = Gateway()
    kept = run(first, gateway=gateway).gateway.store
    assert sorted(kept["skills"]) == ["double", "twice"]
    second = run("twice(2)", gateway=Gateway(store=kept))
    assert second.value == 8
    unrelated = run("sum([1, 2])", gateway=Gateway(store=kept))
    assert (unrelated.value, unrelated.gateway.last_id) == (3, 0)


@pytest.mark.parametrize(
    "function",
    [
        "def total(id):\n    return mcp_shop.get_order(id=id)['total']",
        "async def total(id):\n    return (await mcp_shop.get_order(id=id))['total']",
        "def total(id):\n    return mcp_servers['shop'].get_order(id=id)['total']",
        "def total(id):\n    return mcp__shop__get_order(id=id)['total']",
        "def order(id):\n    return mcp_shop.get_order(id=id)\nsave_tool(order)\ndef total(id):\n    return order(id)['total']",
        # The control needs none of these names.
        "def total(id):\n    return tools.shop.get_order(id=id)['total']",
    ],
)
def test_a_saved_function_reaches_its_server_in_a_program_that_names_none(run, function):
    kept = run(f"{function}\nsave_tool(total)").gateway.store
    ended = run("await total(7)" if "async" in function else "total(7)", gateway=Gateway(store=kept))
    assert (ended.value, ended.gateway.calls) == (14, [("shop.get_order", {"id": 7})])


def test_names_for_a_saved_function_do_not_replace_those_of_the_program(run):
    kept = run("def total(id):\n    return mcp_shop.get_order(id=id)['total']\nsave_tool(total)").gateway.store
    program = "import sys\ndef servers_of():\n    return sorted(n for n in globals() if n.startswith('m' + 'cp_'))\n"
    assert run(program + "total(1)\nreturn servers_of()", gateway=Gateway(store=kept)).value == []
    assert run("mcp_shop = 5\nreturn [total(1), mcp_shop]", gateway=Gateway(store=kept)).value == [2, 5]
    # What an earlier release kept has its names among those of the program.
    old = {"limbeck:saved_tools": {"total": "def total(id):\n    return mcp_shop.get_order(id=id)['total']"}}
    assert run("total(7)", gateway=Gateway(store=old)).value == 14


@pytest.mark.parametrize("program", ["save_tool(lambda: 1)", "save_tool(len)", "save_tool('x')"])
def test_what_has_no_source_or_name_is_not_saved(run, program):
    assert "save_tool takes a function that has a name" in run(program).error["message"]
