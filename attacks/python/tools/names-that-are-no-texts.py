# attack: names of tools and servers of other types, of megabytes, and texts that compare as others do
# property: S41
# tools: ["probe.echo"]
# expect: value []
class Chameleon(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("echo")

    def __str__(self):
        return "echo"

    __repr__ = __format__ = lambda self, *a: '"echo","form":"raw"'


reached = []
for name in [0, None, b"note", ("note",), 1.5, ToolError, Chameleon("note"), "x" * 3_000, "", ["note"]]:
    for how, call in [("tool", lambda: tools.probe[name]({})), ("server", lambda: tools[name].echo({})), ("full", lambda: call_tool(name))]:
        try:
            call()
            reached.append(f"{how} {type(name).__name__}")
        except Exception:
            pass
return [what for what in reached if what != "tool Chameleon"]
