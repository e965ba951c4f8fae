# attack: replaces methods of the classes that carry results, errors and tools, to make a refused call look like its own to allow
# property: S40
# tools: ["shop.list_customers"]
# expect: contained
# without: reached the tool
import types

kinds = {type(tools), type(tools.shop), type(store), type(input), ToolError}
name = "list_customers"
kinds |= {type(getattr(tools.shop, name)), type(getattr(tools.shop, name)({"page_size": 1}))}
for kind in list(kinds):
    for member in list(vars(kind)):
        if isinstance(vars(kind)[member], types.FunctionType) and member not in ("__init__", "__new__"):
            kept = vars(kind)[member]
            try:
                setattr(kind, member, lambda *args, **kwargs: "list_customers")
                server, tool = "probe", "echo"
                tools[server][tool]({"text": "reached the " + "tool"})
            except BaseException:
                pass
            finally:
                setattr(kind, member, kept)
return "held"
