# Tasks and headings out of Markdown.
import re

notes = tools.filesystem.read_file(path="/data/notes.md")
tasks = [{"done": mark == "x", "text": text, "line": notes[:m.start()].count("\n") + 1}
         for m in re.finditer(r"^- \[([ x])\] (.+)$", notes, re.M) for mark, text in [m.groups()]]
print([h for h in re.findall(r"^#+ (.*)$", notes, re.M)])
print(notes.splitlines()[-1], len(notes), len(notes.encode()))
tasks
