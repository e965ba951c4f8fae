# Shortest paths over the links of a wiki, a topological order, a cycle.
import re
from collections import deque
from graphlib import CycleError, TopologicalSorter

links = {}
for slug in tools.wiki.list_pages()["pages"]:
    html = tools.wiki.get_page(slug=slug)["html"]
    links[slug] = sorted(set(re.findall(r"href='/wiki/(\w+)", html)))

def distance(start):
    seen, queue = {start: 0}, deque([start])
    while queue:
        page = queue.popleft()
        for target in links.get(page, []):
            if target not in seen:
                seen[target] = seen[page] + 1
                queue.append(target)
    return seen

print(links)
print(distance("setup"), sorted(set(links) - set(distance("home"))))
print(list(TopologicalSorter({"deploy": {"build", "test"}, "test": {"build"}, "build": set()}).static_order()))
try:
    list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
except CycleError as e:
    print(e.args[0])
