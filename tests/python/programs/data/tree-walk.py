# Recursion over a tree: sizes, paths, depth, an explicit stack.
tree = tools.shapes.nested()["tree"]

def size(node):
    return node.get("size", 0) + sum(map(size, node.get("children", ())))

def paths(node, prefix=""):
    path = f"{prefix}/{node['name']}"
    yield path, size(node)
    for child in node.get("children", []):
        yield from paths(child, path)

def depth(node):
    return 1 + max(map(depth, node.get("children", [])), default=0)

for path, total in paths(tree):
    print(f"{path:<12} {total}")
stack, leaves = [tree], []
while stack:
    node = stack.pop()
    if children := node.get("children"):
        stack.extend(reversed(children))
    else:
        leaves.append(node.name)
print(depth(tree), leaves)
