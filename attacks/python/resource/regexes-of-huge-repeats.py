# attack: regular expressions whose compiled form or whose stack is far larger than their text
# property: S21
# timeout_ms: 1000
# expect: error timeout|memory_limit
import re

while True:
    for pattern in ["(?:(?:(?:a{1000}){1000}){1000}){1000}", "(" * 90 + "a" + ")*" * 90, "(?:a|ab|abc)*" * 200, "[" + "".join(map(chr, range(256, 20_000))) + "]"]:
        try:
            re.purge()
            re.fullmatch(pattern, "ab" * 50_000)
        except (re.error, OverflowError, RecursionError):
            pass
