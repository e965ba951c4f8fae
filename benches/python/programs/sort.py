def numbers(count):
    state = 1
    drawn = []
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        drawn.append(state)
    return drawn


def run():
    ordered = sorted(numbers(1_000_000))
    return [ordered[0], ordered[500_000], ordered[-1]]


result = run()
