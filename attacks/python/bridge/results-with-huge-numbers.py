# attack: a result with a number of a hundred thousand digits, which costs its square to read
# property: S28
# timeout_ms: 5000
# expect: value "held"
for number in ["9" * 100_000, "1e" + "9" * 1_000, "-0." + "1" * 100_000, "1" + "0" * 4_400]:
    for result in ['{"content":[],"structuredContent":{"n":%s}}' % number, '{"content":[{"type":"text","text":"%s"}]}' % number]:
        try:
            tools.probe.say({"result": result})
        except (ToolError, ValueError):
            pass
return "held"
