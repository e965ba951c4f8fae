# attack: a regular expression that tries exponentially many ways
# property: S21
# timeout_ms: 700
# expect: error timeout
import re

re.match(r"(a+)+$", "a" * 40 + "b")
