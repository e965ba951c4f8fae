# attack: prints short lines without end, each of them a call of the host
# property: S25
# timeout_ms: 1000
# warning: left out
# expect: error timeout
while True:
    print("x")
