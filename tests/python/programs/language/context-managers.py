# contextlib: contextmanager, ExitStack, suppress, closing, nullcontext, nested exits.
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress

log = []

@contextmanager
def step(name, swallow=False):
    log.append(f"+{name}")
    try:
        yield name.upper()
    except ToolError as error:
        log.append(f"!{name}: {error}")
        if not swallow:
            raise
    finally:
        log.append(f"-{name}")

with step("a") as a, step("b", swallow=True) as b:
    log.append(a + b)
    tools.flaky.fail(message="inside")
with ExitStack() as stack:
    names = [stack.enter_context(step(n)) for n in "xyz"]
    stack.callback(log.append, "callback")
with suppress(ToolError, KeyError):
    tools.github.get_issue(owner="a", repo="b", number=404)
    log.append("not reached")
with nullcontext(5) as five, closing(iter_ := (n for n in range(3))) as numbers:
    log.append(next(numbers) + five)
print(log)
