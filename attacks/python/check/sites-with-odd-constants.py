# attack: call sites with constants that JSON has no form for, repeated names and invalid names
# property: S44
# expect: value "ran"
def never():
    tools.probe.echo(a=1e999, b=-1e999, c=1j, d=b"\xff", e=..., f="\ud800", g=-0.0, h=None)
    tools.probe.echo(a=99999999999999999999999999999999999999999999999999999999999999999, b=0x10, c=1_000, d=~0, e=not 1)
    tools.probe.echo({"a": 1, "a": 2, 3: 4, None: 5, (1, 2): 6, **{}}, *[], **{"a b": 1})
    tools.probe.echo({"a": float("nan"), "b": {1, 2}, "c": (1, 2), "d": [*[]], "e": f"{1}"})
    tools["probe"]["echo"]({"\ud800": "\udfff", "\0": "\0"})
    tools["pro" "be"]["echo"](**{"x": 1}, **{"y": 2})
    call_tool("mcp__probe__echo", {"a": 1e999})


return "ran"
