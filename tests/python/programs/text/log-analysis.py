# Log lines by regular expression with named groups, counted by level and component.
import re
from collections import Counter, defaultdict

LINE = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d) (?P<time>[\d:]{8}) (?P<level>[A-Z]+)\s+\[(?P<component>\w+)\] (?P<message>.*)$", re.MULTILINE)
log = await tools.filesystem.read_file(path="/data/app.log")

levels, durations = Counter(), defaultdict(list)
for match in LINE.finditer(log):
    levels[match["level"]] += 1
    if ms := re.search(r"(\d+)ms", match["message"]):
        durations[match["component"]].append(int(ms[1]))
print(levels.most_common())
for component, values in sorted(durations.items()):
    print(f"{component:<8} n={len(values):>2} max={max(values):>3} mean={sum(values) / len(values):.1f}")
errors = [m.groupdict() for m in LINE.finditer(log) if m["level"] == "ERROR"]
errors[-1]
