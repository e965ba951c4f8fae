# Generators: send, throw, close, `yield from` with a return value, pipelines.
def averager():
    total = count = 0
    value = None
    while True:
        try:
            value = yield (total / count if count else None)
        except ValueError:
            total = count = 0
            continue
        total += value
        count += 1

a = averager(); next(a)
print([a.send(row["score"]) for row in tools.shapes.rows(count=3)["rows"]], a.throw(ValueError), a.send(10))

def inner():
    received = []
    try:
        while len(received) < 2:
            received.append((yield len(received)))
    finally:
        print("inner ends")
    return received

def outer():
    result = yield from inner()
    yield f"inner gave {result}"

g = outer()
print(next(g), g.send("x"), g.send("y"))
h = outer(); next(h); h.close()
evens = (n for n in range(20) if n % 2 == 0)
squares = (n * n for n in evens)
print(sum(squares), list(squares))
