# attack: calls tools and servers named like what every object of Python has, to reach the object instead of a tool
# property: S41
# expect: value []
strange = []
names = [name for kind in (object, type, dict, str, type(lambda: 0), type(tools)) for name in dir(kind)]
for name in sorted(set(names)):
    for how, call in [("server", lambda: tools[name].x({})), ("tool", lambda: tools.shop[name]({})), ("full", lambda: call_tool(f"mcp__{name}__{name}"))]:
        try:
            value = call()
            strange.append(f"{how} {name}: {value!r:.60}")
        except (ToolError, TypeError, AttributeError, KeyError):
            pass
return strange
