# attack: replaces the built-in functions and types that the prelude reads, then calls a tool it may not
# property: S40
# tools: ["shop.list_customers"]
# expect: contained
# without: reached the tool
import builtins

names = [name for name in vars(builtins) if not name.startswith("__")]
kept = {name: getattr(builtins, name) for name in names}
got = []
for name in names:
    setattr(builtins, name, lambda *args, **kwargs: "echo")
    try:
        server = "probe"
        tools[server].echo({"text": "reached the " + "tool"})
    except kept["BaseException"]:
        pass
    finally:
        setattr(builtins, name, kept[name])
return "held"
