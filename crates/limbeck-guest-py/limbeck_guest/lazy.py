"""What a call is in a program that waits asynchronously: awaitable, and its answer when used.

`await call` and `asyncio.gather(*calls)` wait in the event loop. Anything else that is done with a call
(an index, a loop, arithmetic, printing) waits for the answer on the spot and is done with that.
"""

import json
import math
import operator
from asyncio.events import get_running_loop
from collections.abc import Callable, Generator
from typing import Any

from .calls import Pending

_field = "_limbeck_pending"


class Call:
    """A call on its way. Its answer's attributes and methods are its own, so it has no others."""

    __slots__ = (_field, "__weakref__")

    def __init__(self, pending: Pending) -> None:
        _set(self, pending)

    def __await__(self) -> Generator[Any, None, Any]:
        pending = _get(self)
        if pending.answer is None:
            future = get_running_loop().create_future()
            pending.waiting.append(future)
            yield from future
        return pending.result()

    def __getattr__(self, name: str) -> Any:
        # The answer's, but for what the language asks every object whether it has.
        if name.startswith("__") and name.endswith("__") or name.startswith("_asyncio"):
            raise AttributeError(name)
        return getattr(resolved(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(resolved(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(resolved(self), name)

    # Collections of calls that are not answered yet must not wait for them.
    __hash__ = object.__hash__

    def __dir__(self) -> list[str]:
        return dir(resolved(self))


_set = vars(Call)[_field].__set__
_get: Callable[[Call], Pending] = vars(Call)[_field].__get__


def is_call(value: Any) -> bool:
    """Whether the value is a call and not yet its answer."""
    return type(value) is Call


def pending_of(call: Call) -> Pending:
    """The host call behind it."""
    return _get(call)


def resolved(call: Call) -> Any:
    """The answer; waits for it. Raises what the call failed with."""
    return _get(call).result()


def settle(value: Any) -> Any:
    """The answer of a call; any other value as it is. `rewrite` puts it around calls that are not awaited."""
    return _get(value).result() if type(value) is Call else value


def install() -> None:
    """Has `json.dumps` take calls for their answers. To be called once, when the component is built."""
    others = json.JSONEncoder.default

    def default(self: json.JSONEncoder, value: Any) -> Any:
        return resolved(value) if is_call(value) else others(self, value)

    json.JSONEncoder.default = default  # type: ignore[method-assign]


def _unary(name: str, operation: Callable[..., Any]) -> None:
    def forward(self: Call, *arguments: Any) -> Any:
        return operation(resolved(self), *arguments)

    setattr(Call, name, forward)


def _binary(name: str, operation: Callable[[Any, Any], Any]) -> None:
    def forward(self: Call, other: Any) -> Any:
        return operation(resolved(self), settle(other))

    def backward(self: Call, other: Any) -> Any:
        return operation(settle(other), resolved(self))

    setattr(Call, f"__{name}__", forward)
    setattr(Call, f"__r{name}__", backward)


for _name, _operation in {
    "__repr__": repr, "__str__": str, "__format__": format, "__bool__": bool, "__len__": len, "__iter__": iter,
    "__reversed__": reversed, "__contains__": operator.contains, "__getitem__": operator.getitem,
    "__setitem__": operator.setitem, "__delitem__": operator.delitem, "__int__": int, "__float__": float,
    "__index__": operator.index, "__complex__": complex, "__round__": round, "__trunc__": math.trunc,
    "__floor__": math.floor, "__ceil__": math.ceil, "__neg__": operator.neg, "__pos__": operator.pos,
    "__abs__": abs, "__invert__": operator.invert, "__eq__": operator.eq, "__ne__": operator.ne,
    "__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge,
    "__bytes__": bytes, "__fspath__": str, "__iadd__": operator.iadd, "__ior__": operator.ior,
}.items():  # fmt: skip
    _unary(_name, _operation)

for _name, _operation in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
    "divmod": divmod,
}.items():  # fmt: skip
    _binary(_name, _operation)
