# attack: prints without ever ending the line, until the line does not fit into memory
# property: S25
# timeout_ms: 3000
# warning: left out
# expect: error timeout|memory_limit
part = "x" * 10_000
while True:
    print(part, end="")
