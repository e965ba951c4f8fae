//! Calls without `await`.

use super::*;

#[test]
fn a_missing_await_inside_of_a_coroutine_function_is_told() {
    for program in [
        "async def f():\n    return tools.shop.get_order(id=1)['total']\nawait f()",
        "async def f():\n    o = tools.shop.get_order(id=1)\n    return o.total\nawait f()",
        "async def f():\n    for o in tools.shop.list_orders():\n        pass\nawait f()",
        "async def f():\n    print(tools.shop.list_orders())\nawait f()",
        "async def f():\n    print([tools.shop.list_orders()])\nawait f()",
        "async def f():\n    return mcp_shop.list_orders()['content']\nawait f()",
        "async def f():\n    o = tools.shop.get_order(id=1)\n    return [1, o['total']]\nawait f()",
        "async def f():\n    o = tools.shop.get_order(id=1)\n    return {'t': o.total}\nawait f()",
        "async def f():\n    return f'{tools.shop.get_order(id=1)}'\nawait f()",
        "async def f():\n    o = tools.shop.get_order(id=1)\n    seen.append((1, o['total']))\nawait f()",
        "async def f():\n    o = tools.shop.get_order(id=1)\n    t = o.total\n    return [t]\nawait f()",
        "async def f():\n    if x:\n        pass\n    elif tools.shop.get_order(id=1):\n        pass\nawait f()",
        "import json\nasync def f():\n    return json.dumps(tools.shop.get_order(id=1))\nawait f()",
    ] {
        assert!(!site(program).awaited, "{program}");
    }
}

#[test]
fn calls_that_are_awaited_elsewhere_are_no_mistake() {
    for program in [
        "import asyncio\nasync def f():\n    ts = [tools.shop.get_order(id=i) for i in (1, 2)]\n    return await asyncio.gather(*ts)\nawait f()",
        "import asyncio\nasync def f():\n    t = tools.shop.get_order(id=1)\n    u = tools.shop.get_order(id=2)\n    return await asyncio.gather(t, u)\nawait f()",
        "import asyncio\nasync def f():\n    t = asyncio.create_task(tools.shop.get_order(id=1))\n    return await t\nawait f()",
        "async def f():\n    c = tools.shop.get_order(id=1)\n    return await c\nawait f()",
        "async def f():\n    return tools.shop.get_order(id=1)\nawait f()",
        "import asyncio\nasync def f():\n    t = tools.shop.get_order(id=1)\n    ts = [t]\n    return await asyncio.gather(*ts)\nawait f()",
        "async def f():\n    text = call_mcp_tool('mcp__shop__get_order', {'id': 1})\n    return text['id']\nawait f()",
        "async def f():\n    def g():\n        return tools.shop.get_order(id=1)['id']\n    return g()\nawait f()",
        "async def f():\n    tools.shop.create_order(item='x')\nawait f()",
        "o = tools.shop.get_order(id=1)\nawait tools.shop.get_order(id=o['id'])",
    ] {
        assert!(
            read(program).sites.iter().all(|site| site.awaited),
            "{program}"
        );
    }
}
