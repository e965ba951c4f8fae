# attack: prints lines of a megabyte to both streams, by every way there is to print
# property: S25
# timeout_ms: 10000
# warning: left out
# expect: value "printed"
import logging
import os
import sys
import warnings

long = "x" * (1 << 20)
for _ in range(10):
    print(long, long, sep="\n", file=sys.stderr)
    sys.stdout.write(long)
    sys.stdout.writelines([long, "\n"])
    logging.error(long)
    warnings.warn(long)
    try:
        os.write(1, long.encode())
        os.write(2, long.encode())
    except OSError:
        pass
return "printed"
