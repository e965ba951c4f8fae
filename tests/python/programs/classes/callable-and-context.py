# Objects that are called, entered and compared by identity.
class Timer:
    def __init__(self):
        self.entered = []

    def __enter__(self):
        self.entered.append("in")
        return self

    def __exit__(self, kind, value, tb):
        self.entered.append(kind.__name__ if kind else "out")
        return kind is ToolError

    def __call__(self, *args, **kwargs):
        return len(args), sorted(kwargs)

timer = Timer()
with timer as same:
    print(same is timer, timer(1, 2, x=3))
with timer:
    tools.flaky.fail(message="swallowed")
print(timer.entered)
