# A small validator of records against a schema, with all problems at once.
schema = tools.github.list_issues(owner="a", repo="b", per_page=1) and describe("github", "list_issues")["inputSchema"]
KINDS = {"string": str, "integer": int, "array": list, "object": dict, "boolean": bool}

def problems(schema, value, path="$"):
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    kind = KINDS.get(schema.get("type"))
    if kind and not isinstance(value, kind):
        yield f"{path}: {type(value).__name__} is no {schema['type']}"
        return
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}: {name} is missing"
    for name, item in value.items() if isinstance(value, dict) else ():
        if name in schema["properties"]:
            yield from problems(schema["properties"][name], item, f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}: {name} is unknown"

for arguments in ({"owner": "a", "repo": "b"}, {"owner": 5, "state": "new", "labels": "bug", "x": 1}):
    print(list(problems(schema, arguments)))
