# inspect, warnings, timeit, secrets: what programs look at about themselves.
import inspect
import secrets
import timeit
import warnings

def total(a: int, b: int = 2, *rest, scale: float = 1.0, **more) -> float:
    """Adds.

    Twice.
    """
    return (a + b) * scale

signature = inspect.signature(total)
print([f"{p.name}:{p.kind.name}" for p in signature.parameters.values()], inspect.getdoc(total).splitlines()[0])
print(inspect.getsource(total).splitlines()[-1].strip(), inspect.isfunction(total), inspect.iscoroutinefunction(total))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warnings.warn("old", DeprecationWarning)
print([str(w.message) for w in seen], timeit.timeit(lambda: None, number=10) >= 0, len(secrets.token_hex(8)), secrets.compare_digest("a", "a"))
print(signature.bind(1, scale=2).arguments, total(*signature.bind(1, 2).args))
