# Awaits in default arguments, subscripts, f-strings, comparisons, conditions and matches.
limits = {"a": (await tools.shapes.echo(value=3))["value"]}
def limited(n=(await tools.shapes.echo(value=2))["value"]): return n
print(f"{(await tools.shapes.echo(value='x'))['value']!r:>5}", limited(), [10, 20, 30][(await tools.shapes.echo(value=1))["value"]])
if (await tools.shapes.echo(value=5))["value"] > limits["a"] and not (await tools.shapes.nothing()):
    match await tools.shapes.echo(value={"kind": "k", "n": 4}):
        case {"value": {"kind": str(kind), "n": n}}:
            print(kind, n)
while (n := (await tools.shapes.echo(value=n - 1))["value"]):
    print(n, end=" ")
print(await tools.shapes.nothing() is None, not await tools.shapes.plain_text())
lambda_ = lambda: n
[*(await tools.wiki.list_pages())["pages"], *sorted({**await tools.shapes.echo(value=0)})]
