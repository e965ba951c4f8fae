# Tries sources in order until one answers.
import json

def first_that_works(*sources):
    problems = {}
    for name, source in sources:
        try:
            return name, source(), problems
        except (ToolError, json.JSONDecodeError, KeyError) as error:
            problems[name] = f"{type(error).__name__}: {error}"
    raise LookupError(f"all failed: {sorted(problems)}")

name, value, problems = first_that_works(
    ("cache", lambda: json.loads(tools.filesystem.read_file(path="/data/cache.json"))),
    ("notes", lambda: json.loads(tools.filesystem.read_file(path="/data/notes.md"))),
    ("config", lambda: json.loads(tools.filesystem.read_file(path="/data/config.json"))),
)
print(name, value["retries"])
for source, problem in problems.items():
    print(f"  {source}: {problem}")
