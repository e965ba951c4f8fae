# attack: asks every list, search and description for tools outside of its patterns
# property: S43
# tools: ["shop.list_customers"]
# expect: value []
import importlib
import pydoc

told = []
hidden = ["get_cus" + "tomer", "list_or" + "ders", "hasOwn" + "Property", "ec" + "ho"]


def look(how, f, asked="xyz"):
    try:
        text = repr(f())
    except BaseException as error:
        text = repr([getattr(error, "hint", None), getattr(error, "message", None)]).replace(asked, "")
    if any(word in text for word in hidden):
        told.append(f"{how}: {text[:200]}")


name = "xyz"
words = "customer order number count text"
look("search", lambda: search(words, limit=50))
look("describe server", lambda: describe("shop"))
look("describe tool", lambda: describe("probe", hidden[3]), hidden[3])
look("servers", lambda: servers())
look("dir", lambda: [dir(tools), dir(tools.shop), dir(tools.probe)])
look("repr", lambda: [tools, tools.shop, tools.probe, vars(type(tools))])
look("iter", lambda: [list(tools), list(tools.shop)])
look("help", lambda: pydoc.render_doc(tools.shop))
look("denied", lambda: tools.probe[name]())
look("denied server", lambda: tools[name][name]())
look("globals", lambda: [key for key in globals() if key not in ("hidden", "told")])
for module in ["mcp", "mcp.runtime", "mcp.servers.shop", "mcp.servers.probe"]:
    look(module, lambda: dir(importlib.import_module(module)))
for f in ["discovered_servers", "list_servers", "list_tools", "query_tool_docs", "search_tool_docs", "describe_server", "capability_summary", "list_loaded_server_metadata"]:
    for suffix in ["", "_sync"]:
        for arguments in [(), ("shop",), ("probe",), ("order",), (True,)]:
            look(f"{f}{suffix}{arguments}", lambda: getattr(runtime, f + suffix)(*arguments))
look("discover_mcp_tools", lambda: discover_mcp_tools())
look("search_tools", lambda: search_tools("order text", 50))
look("get_tool_schema", lambda: get_tool_schema("mcp__probe__" + hidden[3]), hidden[3])
return told
