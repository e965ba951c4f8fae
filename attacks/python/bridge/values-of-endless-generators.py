# attack: returns a generator without end
# property: S25
# timeout_ms: 1500
# expect: contained
import itertools

return itertools.count()
