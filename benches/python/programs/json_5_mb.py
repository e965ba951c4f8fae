import json


def run():
    records = [
        {"id": i, "name": f"customer number {i:06}", "email": f"user{i}@example.com", "active": i % 2 == 0,
         "score": i % 100 + 0.25, "tags": ["alpha", "beta", "gamma"], "city": "Springfield"}
        for i in range(32_000)
    ]
    text = json.dumps(records)
    return [len(text), len(json.loads(text))]


result = run()
