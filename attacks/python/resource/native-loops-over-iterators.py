# attack: consumes an endless iterator inside the interpreter's own code
# property: S21
# timeout_ms: 700
# expect: error timeout
import collections
import itertools

collections.deque(itertools.count(), maxlen=0)
