# attack: calls tools outside of its patterns by every spelling there is
# property: S40
# tools: ["shop.list_customers"]
# expect: value []
import importlib

reached = []
customer, found = "get_customer", {"id": "cus_0001"}


def attempt(how, f):
    try:
        got = f()
    except Exception as error:
        code = getattr(error, "code", None)
        if code not in ("denied", "unknown_tool", "unknown_server", None):
            reached.append(f"{how}: {error!r:.100}")
        return
    if "cus_0001" in repr(got) and "denied" not in repr(got):
        reached.append(how)


attempt("item", lambda: tools["shop"][customer](found))
attempt("attribute", lambda: getattr(tools.shop, customer)(**found))
attempt("alias", lambda: getattr(tools.shop, "getCustomer")(**found))
attempt("case", lambda: getattr(getattr(tools, "SHOP"), "GET_CUSTOMER")(**found))
attempt("raw", lambda: getattr(tools.shop, customer).raw(**found))
attempt("call_tool", lambda: call_tool("mcp__shop__" + customer, found))
attempt("dotted", lambda: call_tool("shop." + customer, found))
attempt("nested", lambda: getattr(getattr(tools, "shop.get_customer"), customer)(**found))
attempt("prefix", lambda: call_tool("mcp__shop__list_customers__" + customer, found))
attempt("S0", lambda: call_mcp_tool("mcp__shop__" + customer, found))
attempt("runtime", lambda: runtime.call_tool("shop", customer, found))
attempt("from mcp", lambda: importlib.import_module("mcp.runtime").call_tool("shop", customer, found))
attempt("proxy", lambda: getattr(mcp_shop, customer)(**found))
attempt("proxies", lambda: getattr(mcp_servers["shop"], customer)(**found))
attempt("wrapper", lambda: getattr(importlib.import_module("mcp.servers.shop"), customer)(**found))
attempt("map", lambda: importlib.import_module("mcp.servers.shop").TOOL_MAP[customer](**found))
attempt("target", lambda: tools.shop[f'list_customers","tool":"{customer}'](**found))
attempt("type", lambda: type(tools.shop.list_customers)("shop", customer)(**found))
return reached
