# A longer program: configuration, classes, async helpers, a report.
import asyncio
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timezone

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
REPOS = ["sample", "engine"]
STALE_DAYS = 20

@dataclass
class Finding:
    repo: str
    number: int
    title: str
    age_days: int
    labels: list[str] = field(default_factory=list)

    @property
    def severity(self) -> str:
        if "bug" in self.labels:
            return "high"
        return "medium" if self.age_days > 25 else "low"

class Collector:
    def __init__(self, concurrency: int = 2) -> None:
        self.gate = asyncio.Semaphore(concurrency)
        self.requests = 0
        self.problems: list[str] = []

    async def page(self, repo: str, number: int) -> dict:
        async with self.gate:
            self.requests += 1
            return await tools.github.list_issues(owner="acme", repo=repo, state="open", page=number, per_page=15)

    async def issues(self, repo: str):
        number = 1
        while True:
            page = await self.page(repo, number)
            for issue in page["issues"]:
                yield issue
            if not page["has_next"]:
                break
            number += 1

    async def findings(self, repo: str) -> list[Finding]:
        found = []
        async for issue in self.issues(repo):
            updated = datetime.fromisoformat(issue["updated_at"].replace("Z", "+00:00"))
            age = (NOW - updated).days
            if age >= STALE_DAYS:
                found.append(Finding(repo, issue["number"], issue["title"], age, list(issue["labels"])))
        if not found:
            self.problems.append(f"{repo}: nothing stale")
        return found

def render(groups: dict[str, list[Finding]]) -> str:
    lines = []
    for severity in ("high", "medium", "low"):
        findings = groups.get(severity, [])
        if not findings:
            continue
        lines.append(f"## {severity.title()} ({len(findings)})")
        for f in sorted(findings, key=lambda f: (-f.age_days, f.repo, f.number))[:3]:
            lines.append(f"- {f.repo}#{f.number} {re.sub(r'[^ -~]', '?', f.title)} ({f.age_days} d)")
    return "\n".join(lines)

async def main() -> dict:
    collector = Collector()
    per_repo = await asyncio.gather(*(collector.findings(r) for r in REPOS))
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in (f for findings in per_repo for f in findings):
        groups[finding.severity].append(finding)
    print(render(groups))
    labels = Counter(l for fs in groups.values() for f in fs for l in f.labels)
    saved = await tools.filesystem.write_file(path="/data/stale.json", content=json.dumps({k: len(v) for k, v in groups.items()}))
    return {"requests": collector.requests, "labels": dict(labels.most_common(2)), "saved": saved, "problems": collector.problems}

if __name__ == "__main__":
    asyncio.run(main())
