# Newline-delimited JSON with broken lines.
import json
from collections import Counter

counts, broken = Counter(), []
for number, line in enumerate(tools.filesystem.read_file(path="/data/events.jsonl").splitlines(), 1):
    if not line.strip():
        continue
    try:
        event = json.loads(line)
    except ValueError:
        broken.append(number)
        continue
    counts[event["type"]] += event.get("x", 1)
print(counts, broken)
"\n".join(json.dumps({"type": k, "sum": v}) for k, v in counts.items())
