def run():
    text = ""
    for i in range(200_000):
        text += f"line {i:06d}: {'x' * (i % 7)}\n"
    parts = [part.strip().upper() for part in text.splitlines()]
    joined = ", ".join(part.replace("LINE", "L") for part in parts)
    return [len(text), len(joined)]


result = run()
