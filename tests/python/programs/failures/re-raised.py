# The line of the innermost call counts, not that of `raise`.
def load():
    return int("not a number")

try:
    load()
except ValueError:
    print("noted")
    raise
