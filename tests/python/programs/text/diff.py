# difflib: unified diff, ratio, close matches.
import difflib

before = tools.github.get_file_contents(owner="a", repo="b", path="README.md").splitlines()
after = [line.replace("sample", "example") for line in before if line] + ["", "MIT"]
print("\n".join(difflib.unified_diff(before, after, "README.md", "README.md (new)", lineterm="", n=1)))
print(round(difflib.SequenceMatcher(None, "\n".join(before), "\n".join(after)).ratio(), 3))
print(difflib.get_close_matches("list_isues", ["list_issues", "list_users", "get_issue", "post"], n=2))
