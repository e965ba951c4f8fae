# Webhook payloads of several kinds, given as input.
# input: [{"type": "push", "ref": "refs/heads/main", "commits": [{"id": "a1"}, {"id": "b2"}]}, {"type": "release", "release": {"tag": "v1.2.0", "draft": false}}, {"type": "release", "release": {"tag": "v2", "draft": true}}, {"type": "ping"}, {"kind": "other"}]
summary = []
for event in input:
    match event:
        case {"type": "push", "ref": ref, "commits": [first, *others]}:
            summary.append(f"{1 + len(others)} commits on {ref.rsplit('/', 1)[-1]} from {first['id']}")
        case {"type": "release", "release": {"tag": tag, "draft": False}}:
            summary.append(f"released {tag}")
        case {"type": "release"}:
            summary.append("draft ignored")
        case {"type": kind}:
            summary.append(f"unhandled {kind}")
        case _:
            summary.append("no type")
summary
