# attack: reads and writes JSON that is deep, wide and of a million keys
# property: S24
# timeout_ms: 2000
# expect: error timeout|memory_limit|stack_limit
import json

kept = []
while True:
    for text in ["[" * 500_000, "[" * 900 + "]" * 900, '{"a":' * 200_000, "[" + "0," * 500_000 + "0]"]:
        try:
            kept.append(json.loads(text))
        except (ValueError, RecursionError):
            pass
