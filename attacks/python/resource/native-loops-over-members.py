# attack: looks for what is not there in ranges, repeats and cycles without end
# property: S21
# timeout_ms: 700
# expect: error timeout
import itertools

return object() in itertools.repeat(1)
