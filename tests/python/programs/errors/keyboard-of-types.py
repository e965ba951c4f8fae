# Errors that ordinary code makes, by type and message.
attempts = [
    lambda: {"a": 1}["b"],
    lambda: [1, 2][5],
    lambda: int("twelve"),
    lambda: None.title,
    lambda: "a" + 1,
    lambda: len(5),
    lambda: [].pop(),
    lambda: next(iter(())),
    lambda: float("1,5"),
    lambda: "x".encode("ascii") + "é".encode("ascii"),
    lambda: (1).no_such,
]
for attempt in attempts:
    try:
        attempt()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
