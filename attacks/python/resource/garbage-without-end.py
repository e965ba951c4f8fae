# attack: makes cycles of garbage with finalizers that make more, and turns the collector off and on inside of them
# property: S23
# timeout_ms: 1500
# expect: error timeout|memory_limit
import gc


class Phoenix:
    def __init__(self):
        self.me = self
        self.load = bytearray(10_000)

    def __del__(self):
        gc.disable()
        kept.append(Phoenix())
        gc.enable()


kept = []
while True:
    Phoenix()
    gc.collect()
