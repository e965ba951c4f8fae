# Commands as lists.
def run(command: str):
    match command.split():
        case []:
            return "nothing"
        case ["go", ("north" | "south" | "east" | "west") as where]:
            return f"going {where}"
        case ["take", *items, "and", last]:
            return f"taking {len(items) + 1} things, {last} last"
        case ["take", item]:
            return f"taking {item}"
        case ["set", name, value] if value.isdigit():
            return {name: int(value)}
        case [verb, *_]:
            return f"cannot {verb}"

for command in ["", "go north", "take lamp", "take a b and c", "set x 42", "set x y", "dance now"]:
    print(run(command))
