# `raise … from`, `__cause__`, `__context__` and `__suppress_context__`.
class ImportFailed(Exception):
    """Something could not be imported."""

    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}")
        self.path = path

def load(path):
    try:
        return tools.filesystem.read_file(path=path)
    except ToolError as error:
        raise ImportFailed(path, "unreadable") from error

try:
    load("/nope")
except ImportFailed as error:
    print(error, "<-", error.__cause__.code, error.path)
try:
    try:
        {}["a"]
    except KeyError:
        int("x")
except ValueError as error:
    print(repr(error), repr(error.__context__), error.__cause__)
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError("clean") from None
except ValueError as error:
    print(error.__suppress_context__)
