# attack: closes, detaches and deletes the streams, and ends by an error that must be reported
# property: S34
# expect: error exception
# message: ValueError: told
import os
import sys

for stream in [sys.stdout, sys.stderr, sys.stdin]:
    for name in ["detach", "close"]:
        try:
            getattr(stream, name)()
        except BaseException:
            pass
for fd in range(64):
    try:
        os.close(fd)
    except OSError:
        pass
del sys.stdout, sys.stderr
raise ValueError("told")
