# attack: makes empty files, folders and links until it is stopped
# property: S30
# timeout_ms: 10000
# expect: value ["held", "held"]
import os

out = []
for make in [lambda n: os.close(os.open(f"/tmp/file{n}", os.O_CREAT | os.O_WRONLY)), lambda n: os.mkdir(f"/workspace/folder{n}")]:
    try:
        for number in range(1_000_000):
            make(number)
        out.append("a million made")
    except OSError:
        out.append("held")
return out
