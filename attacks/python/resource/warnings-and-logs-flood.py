# attack: warns, logs and raises where no handler can catch, without end
# property: S25
# timeout_ms: 1000
# expect: error timeout
import logging
import warnings


class Late:
    def __del__(self):
        raise RuntimeError("x" * 10_000)


n = 0
while True:
    n += 1
    warnings.warn(f"warning {n} " + "x" * 1_000)
    logging.getLogger(f"logger {n % 1000}").critical("x" * 1_000)
    Late()
