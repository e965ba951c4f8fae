import re


def run():
    line = "2026-11-21T10:45:12Z level=warn user=jane.doe@example.com path=/a/b/{} took=153ms\n"
    text = "".join(line.format(i) for i in range(10_000))
    mails = re.findall(r"[\w.+-]+@[\w-]+\.[\w.]+", text)
    took = re.findall(r"took=(\d+)ms", text)
    paths = re.sub(r"/a/b/(\d+)", r"/\1", text)
    return [len(mails), sum(map(int, took)), len(paths)]


result = run()
