# Versions parsed and compared, changelogs made of commits.
import re
from collections import defaultdict

COMMIT = re.compile(r"^(?P<type>\w+)(?:\((?P<scope>\w+)\))?(?P<breaking>!)?: (?P<subject>.+)$")

def bump(version, commits):
    major, minor, patch = map(int, version.split("."))
    kinds = {c["type"] for c in commits}
    if any(c["breaking"] for c in commits):
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if "feat" in kinds else f"{major}.{minor}.{patch + 1}"

commits, after = [], {}
while True:
    page = tools.github.list_commits(owner="acme", repo="sample", **after)
    commits += [COMMIT.match(c["message"]).groupdict() for c in page["commits"]]
    if not page["last"]:
        break
    after = {"after": page["last"]}
sections = defaultdict(list)
for c in commits:
    sections[c["type"]].append(f"{c['scope'] + ': ' if c['scope'] else ''}{c['subject']}")
print(bump("1.4.2", commits), bump("1.4.2", commits[:3]), bump("1.4.2", commits[1:2]))
for kind in ("feat", "fix"):
    print(f"### {kind}", *sections[kind], sep="\n- ")
