# Splits ids into batches and asks for each batch.
def batched(items, size):
    for at in range(0, len(items), size):
        yield items[at:at + size]

paths = [entry["name"] for entry in tools.filesystem.list_directory(path="/data")["entries"] if entry["type"] == "file"]
sizes = []
for batch in batched(sorted(paths), 3):
    text = tools.filesystem.read_multiple_files(paths=[f"/data/{name}" for name in batch])
    sizes.append((len(batch), len(text) > 0, text.count("\n") > 0))
print(len(paths), sizes[0], len(sizes))
