# attack: ends with an exception whose causes go in a circle, whose group nests deep and whose notes are not texts
# property: S24
# timeout_ms: 5000
# expect: error exception
first, second = ValueError("first"), ValueError("second")
first.__cause__, second.__cause__ = second, first
first.__context__, second.__context__ = second, first
group = first
for _ in range(2_000):
    group = ExceptionGroup("level", [group])
group.__notes__ = [1, None, "x" * (1 << 20), b"\xff", group]
chain = group
for _ in range(20_000):
    later = KeyError("x" * 100)
    later.__context__ = chain
    chain = later
raise chain
