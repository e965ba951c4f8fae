# attack: has a server send results of megabytes, and keeps them all
# property: S28
# timeout_ms: 5000
# expect: error memory_limit|timeout
part = "x" * (7 << 18)
kept = []
while True:
    kept.append(tools.probe.say({"result": '{"content":[],"structuredContent":{"text":"%s"}}' % part}))
