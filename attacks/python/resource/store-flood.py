# attack: writes keys and values to the store beyond every bound of them
# property: S28
# timeout_ms: 10000
# expect: value ["refused", "refused", "refused", "kept"]
out = []
for key, value in [("x" * 257, 1), ("", 1), ("python large", "x" * 1_100_000), ("python small", "x")]:
    try:
        store.set(key, value)
        out.append("kept")
    except ToolError:
        out.append("refused")
return out
