# What runs when, around a call that fails.
# changed: 3.14
def attempt(message=None):
    steps = []
    try:
        steps.append("try")
        if message:
            tools.flaky.fail(message=message)
    except ToolError as error:
        steps.append(f"except {error}")
    else:
        steps.append("else")
    finally:
        steps.append("finally")
    return steps

print(attempt())
print(attempt("oops"))

def overridden():
    for n in range(3):
        try:
            return n
        finally:
            if n < 2:
                continue

print(overridden())
