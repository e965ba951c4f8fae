"""A code host: issues by page, pull requests as JSON text, files as text."""

from typing import Any

from toolkit import OBJECT, Result, Server, failed, json_text, page_of, structured, text

PEOPLE = ["ada", "grace", "linus", "margaret", "dennis"]
LABELS = ["bug", "docs", "enhancement", "performance", "good first issue"]
TITLES = [
    "Crash when the config file is empty",
    "Document the retry policy",
    "Support Python 3.14",
    "Slow start on large catalogues",
    "Typo in README",
    "Timeout is ignored for streams",
    "Add dark mode to the dashboard",
    "Memory grows while idle",
    "Unicode file names break export: naïve café ☕",
]


def issue(number: int) -> dict[str, Any]:
    """Issue `number`; everything about it follows from the number."""
    return {
        "number": number,
        "title": TITLES[number % len(TITLES)],
        "state": "closed" if number % 3 == 0 else "open",
        "user": {"login": PEOPLE[number % len(PEOPLE)]},
        "labels": [LABELS[number % 5], LABELS[(number * 2 + 1) % 5]] if number % 4 else [],
        "comments": number * 7 % 12,
        "created_at": f"2025-{1 + number % 12:02}-{1 + number * 3 % 28:02}T{number % 24:02}:15:00Z",
        "updated_at": f"2026-{1 + number % 9:02}-{1 + number * 5 % 28:02}T08:00:00Z",
        "assignee": None if number % 2 else {"login": PEOPLE[(number + 1) % 5]},
        "body": f"Seen on build {number * 37}. Related to #{max(1, number - 2)} and #{number + 4}.",
    }


ISSUES = [issue(number) for number in range(1, 48)]
PULLS = [
    {
        "number": 101,
        "title": "Fix crash on empty config",
        "author": "ada",
        "draft": False,
        "additions": 12,
        "deletions": 3,
        "reviewers": ["grace"],
        "merged_at": "2026-02-03T10:00:00Z",
    },
    {
        "number": 102,
        "title": "Rewrite scheduler",
        "author": "linus",
        "draft": True,
        "additions": 940,
        "deletions": 1210,
        "reviewers": [],
        "merged_at": None,
    },
    {
        "number": 103,
        "title": "docs: retry policy",
        "author": "margaret",
        "draft": False,
        "additions": 58,
        "deletions": 0,
        "reviewers": ["ada", "dennis"],
        "merged_at": None,
    },
    {
        "number": 104,
        "title": "Bump dependencies",
        "author": "dependabot[bot]",
        "draft": False,
        "additions": 210,
        "deletions": 205,
        "reviewers": [],
        "merged_at": "2026-02-20T17:45:00Z",
    },
]
COMMITS = [
    {
        "sha": f"{number * 2654435761 % 2**32:08x}",
        "author": PEOPLE[number % 5],
        "message": message,
        "date": f"2026-03-{number + 1:02}",
    }
    for number, message in enumerate(
        [
            "feat(api): add cursor",
            "fix: close file",
            "feat: dark mode",
            "chore: bump deps",
            "fix(ui): focus ring",
            "docs: readme",
            "refactor!: drop v1",
            "feat(cli): json output",
            "fix(api): off by one",
            "test: add cases",
            "fix: typo",
            "perf: cache schema",
        ]
    )
]
FILES = {
    "README.md": "# Sample\n\nA sample project.\n\n## Install\n\n    pip install sample\n\n## Usage\n\nSee [docs](docs/index.md).\n",
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.4.2"\ndependencies = ["httpx>=0.27", "pydantic~=2.6"]\n\n[tool.ruff]\nline-length = 100\n',
    "src/app.py": "import os\n\n\ndef main(argv):\n    # TODO: parse arguments\n    return 0\n\n\nclass App:\n    # FIXME leaks\n    def run(self): ...\n",
    ".env.example": "API_URL=https://api.example.com\nTIMEOUT=30\n# comment\nDEBUG=false\n",
}


def make() -> Server:
    """The server."""
    server = Server("github", "Repositories, issues and pull requests of a code host")

    @server.tool(
        "list_issues",
        "List the issues of a repository, page by page",
        output=OBJECT,
        owner="string",
        repo="string",
        state="open|closed|all?",
        labels="string[]?",
        page="integer?",
        per_page="integer?",
    )
    def list_issues(args: dict[str, Any]) -> Result:
        state, labels = args.get("state", "open"), set(args.get("labels", []))
        if args["repo"] == "empty":
            return structured({"issues": [], "total": 0, "page": 1, "has_next": False})
        found = [each for each in ISSUES if state in ("all", each["state"]) and labels <= set(each["labels"])]
        page = args.get("page", 1)
        shown, more = page_of(found, page, args.get("per_page", 10))
        return structured({"issues": shown, "total": len(found), "page": page, "has_next": more})

    @server.tool(
        "get_issue", "Get one issue by its number", output=OBJECT, owner="string", repo="string", number="integer"
    )
    def get_issue(args: dict[str, Any]) -> Result:
        if not 1 <= args["number"] <= len(ISSUES):
            return failed(f"issue #{args['number']} not found")
        return structured(issue(args["number"]))

    @server.tool(
        "create_issue",
        "Create an issue",
        output=OBJECT,
        read=False,
        owner="string",
        repo="string",
        title="string",
        body="string?",
        labels="string[]?",
    )
    def create_issue(args: dict[str, Any]) -> Result:
        number = 1000 + len(args["title"])
        url = f"https://github.example/{args['owner']}/{args['repo']}/issues/{number}"
        return structured({"number": number, "url": url, "labels": args.get("labels", [])})

    @server.tool("list_pull_requests", "List the pull requests of a repository", owner="string", repo="string")
    def list_pull_requests(args: dict[str, Any]) -> Result:
        return json_text(PULLS if args["repo"] != "empty" else [])

    @server.tool(
        "list_commits",
        "List commits, newest last; give `after` the last sha seen",
        output=OBJECT,
        owner="string",
        repo="string",
        after="string?",
    )
    def list_commits(args: dict[str, Any]) -> Result:
        shas = [each["sha"] for each in COMMITS]
        start = shas.index(args["after"]) + 1 if "after" in args else 0
        shown = COMMITS[start : start + 5]
        return structured({"commits": shown, "last": shown[-1]["sha"] if start + 5 < len(COMMITS) else None})

    @server.tool("get_file_contents", "Read a file of a repository", owner="string", repo="string", path="string")
    def get_file_contents(args: dict[str, Any]) -> Result:
        content = FILES.get(args["path"])
        return (
            text(content)
            if content is not None
            else failed(f"{args['path']}: no such file in {args['owner']}/{args['repo']}")
        )

    @server.tool("list_repos", "List the repositories of an owner", output=OBJECT, owner="string")
    def list_repos(args: dict[str, Any]) -> Result:
        repos = [
            {
                "name": "sample",
                "language": "Python",
                "stars": 1520,
                "archived": False,
                "topics": ["cli", "mcp"],
                "license": "MIT",
            },
            {
                "name": "engine",
                "language": "Rust",
                "stars": 8431,
                "archived": False,
                "topics": ["wasm"],
                "license": "Apache-2.0",
            },
            {"name": "old-site", "language": "HTML", "stars": 3, "archived": True, "topics": [], "license": None},
            {
                "name": "dotfiles",
                "language": None,
                "stars": 41,
                "archived": False,
                "topics": ["config"],
                "license": None,
            },
            {"name": "empty", "language": "Python", "stars": 0, "archived": False, "topics": [], "license": "MIT"},
        ]
        return structured({"repos": repos, "owner": args["owner"]})

    return server
