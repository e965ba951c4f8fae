# attack: makes calls one after the other without end
# property: S27
# timeout_ms: 20000
# expect: error call_limit
while True:
    describe("probe", "echo")
