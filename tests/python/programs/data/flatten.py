# Flattens nested records to dotted keys and back.
def flatten(value, prefix=""):
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {prefix: value}
    flat = {}
    for key, item in items:
        flat |= flatten(item, f"{prefix}.{key}" if prefix else str(key))
    return flat

def unflatten(flat):
    root = {}
    for path, value in flat.items():
        *parents, leaf = path.split(".")
        node = root
        for part in parents:
            node = node.setdefault(part, {})
        node[leaf] = value
    return root

import json
config = json.loads(tools.filesystem.read_file(path="/data/config.json"))
flat = flatten(config)
print(flat)
return unflatten({k: v for k, v in flat.items() if v is not None})
