"""Host calls: numbered here, sent at once, kept until they are answered.

A program that never waits asynchronously gets its answers on the spot. In any other program a call is
a `lazy.Call`: on its way already, to be awaited, gathered, or used as if it were the answer.
"""

from asyncio import CancelledError
from collections.abc import Callable
from time import time_ns
from typing import Any

from . import host, jsontext
from .errors import ToolError, tool_error

Convert = Callable[[Any], Any]
Refuse = Callable[[dict[str, Any]], ToolError]
# Makes an answer of an error; raises the error when there is no answer for it.
Recover = Callable[[ToolError], Any]

# Failed calls that are listed at the end when the program did not use their results.
_UNSEEN_SHOWN_MAX = 10
_UNSEEN_KEPT_MAX = 1000
# After a return a program runs on for its calls: so long in all, and never into the end of its time limit: this much of it,
# or a quarter of a shorter limit.
_TAIL_US_MAX = 10_000_000
_TAIL_RESERVE_MS = 2_000


class Pending:
    """One call, from its leaving to its answer."""

    __slots__ = ("number", "label", "convert", "refuse", "recover", "answer", "outcome", "waiting")

    def __init__(
        self, number: int, label: str, convert: Convert | None, refuse: Refuse, recover: Recover | None
    ) -> None:
        self.number = number
        self.label = label
        self.convert = convert
        self.refuse = refuse
        self.recover = recover
        self.answer: tuple[bool, str] | None = None
        self.outcome: tuple[bool, Any] | None = None
        self.waiting: list[Any] = []

    def settle(self, ok: bool, text: str) -> None:
        """Stores the answer and wakes the coroutine that awaits it. Its JSON is parsed when the result is read."""
        self.answer = (ok, text)
        if not ok and self.recover is None:
            _note_failure(self)
        for future in self.waiting:
            if not future.done():
                future.set_result(None)
        self.waiting.clear()

    def result(self) -> Any:
        """The answer; waits for it when it is not there. Raises what the call failed with."""
        while self.answer is None:
            deliver(host.wait(_within_tail(host.NO_TIMER)))
        if self.outcome is None:
            self.outcome = self._read(*self.answer)
        ok, value = self.outcome
        if ok:
            return value
        _unseen.pop(self.number, None)
        raise value.with_traceback(None)

    def _read(self, ok: bool, text: str) -> tuple[bool, Any]:
        try:
            value = jsontext.decode(text)
        except (ValueError, RecursionError):
            code = "gateway_fault"
            return False, ToolError("the answer is not JSON that the engine can read", {"code": code})
        try:
            if ok:
                return True, value if self.convert is None else self.convert(value)
            error = self.refuse(value if isinstance(value, dict) else {})
            if self.recover is None:
                return False, error
            return True, self.recover(error)
        except ToolError as error:
            return False, error


_pending: dict[int, Pending] = {}
_unseen: dict[int, Pending] = {}


class _State:
    """What differs from program to program."""

    made = 0
    blocking = True
    # When a program that has returned must have ended, so that its value is not lost; None for no time limit.
    returned_ends_us: int | None = None
    # When the tail that runs ends; None while the program itself runs. What is left of the time of all tails.
    tail_ends_us: int | None = None
    tail_left_us = _TAIL_US_MAX


_state = _State()


def begin(blocking: bool, wall_ms: Any = None) -> None:
    """Says how calls are answered: on the spot, or by something to await. `wall_ms` is the time limit, which begins now."""
    _state.blocking = blocking
    if isinstance(wall_ms, (int, float)):
        _state.returned_ends_us = now_us() + int(1000 * (wall_ms - min(_TAIL_RESERVE_MS, wall_ms / 4)))


def begin_tail() -> None:
    """Begins the time after a return. The clock of the host decides when it has ended, so a replay ends it in the same place."""
    ends_us = now_us() + _state.tail_left_us
    _state.tail_ends_us = ends_us if _state.returned_ends_us is None else min(ends_us, _state.returned_ends_us)


def end_tail(began_us: int) -> None:
    """Ends it; what it took is not there for the next, such as that of a second `asyncio.run`."""
    _state.tail_ends_us = None
    _state.tail_left_us = max(0, _state.tail_left_us - (now_us() - began_us))


def tail_left_s() -> float:
    """Seconds that the tail has left; 0 when it has ended."""
    ends_us = _state.tail_ends_us
    return float("inf") if ends_us is None else max(0, ends_us - now_us()) / 1e6


def _within_tail(wake_at_us: int) -> int:
    """When to wake for a timer, or without one. Ends the code that waits when the tail has ended."""
    ends_us = _state.tail_ends_us
    if ends_us is None:
        return wake_at_us
    if now_us() >= ends_us:
        raise CancelledError
    return ends_us if wake_at_us == host.NO_TIMER else min(wake_at_us, ends_us)


def is_blocking() -> bool:
    """Whether a call's answer is there when the call returns."""
    return _state.blocking


def made() -> int:
    """How many calls there have been."""
    return _state.made


def start(
    op: int, head: str, body: str, label: str, convert: Convert | None = None, refuse: Refuse = tool_error,
    recover: Recover | None = None,
) -> Pending:  # fmt: skip
    """Sends a call. `convert` turns its value into the answer, `refuse` its failure into the error."""
    number = _state.made + 1
    host.call(number, op, head, body)
    _state.made = number
    pending = _pending[number] = Pending(number, label, convert, refuse, recover)
    return pending


def ask(op: int, body: str, label: str, convert: Convert | None = None) -> Any:
    """Asks the gateway itself and waits for the answer."""
    return start(op, "", body, label, convert).result()


def deliver(answers: list[host.Answer]) -> None:
    """Settles the calls that were answered, in the order given."""
    for number, ok, text in answers:
        pending = _pending.pop(number, None)
        if pending is not None:
            pending.settle(ok, text)


def any_pending() -> bool:
    """Whether an answer may still come."""
    return bool(_pending)


def any_awaited(loop: Any) -> bool:
    """Whether code of this event loop awaits an answer. A call that was never awaited, or whose await was cancelled, does
    not count: no code goes on when it is answered."""
    return any(
        not future.done() and future.get_loop() is loop for pending in _pending.values() for future in pending.waiting
    )


def unanswered() -> list[Pending]:
    """Calls without an answer, in the order in which they were made."""
    return list(_pending.values())


def now_us(_time_ns: Callable[[], int] = time_ns) -> int:
    """The clock of the host, in microseconds since 1970. It does not advance while the program runs."""
    return _time_ns() // 1000


def sleep(seconds: float) -> None:
    """`time.sleep`: waits without using the processor; answers that come meanwhile are kept."""
    if not isinstance(seconds, (int, float)) and not hasattr(seconds, "__float__"):
        raise TypeError(f"'{type(seconds).__name__}' object cannot be interpreted as a number of seconds")
    delay = float(seconds)
    if not delay >= 0:
        raise ValueError("sleep length must be non-negative")
    wake_at_us = wake_after(delay)
    while True:
        deliver(host.wait(_within_tail(wake_at_us)))
        if now_us() >= wake_at_us:
            return


class _Turns:
    """Turns of loops that ask for the time, since the clock moved."""

    at_us = 0
    count = 0


_turns = _Turns()
# After so many the clock is moved by this much. Every wait is recorded, so there are not too many in a second.
_TURNS_STILL_MAX = 64
_TURN_S = 0.01


def turn(condition: Any) -> Any:
    """Passes on the condition of a loop that asks for the time. Where nothing in the loop waits, it waits now and then:
    `while time.time() < end: pass` would never end."""
    now = now_us()
    if now != _turns.at_us:
        _turns.at_us, _turns.count = now, 0
        return condition
    _turns.count += 1
    if condition and _turns.count > _TURNS_STILL_MAX:
        sleep(_TURN_S)
    return condition


# A year: longer than any program may run, and far from what a signed 64-bit clock can hold.
_DELAY_S_MAX = 365 * 24 * 3600.0
# The clock's step. A time between two steps would never be reached.
_STEP_US = 1_000


def wake_after(seconds: float) -> int:
    """The first time on the host's clock at which so much has passed; a year at most."""
    at_us = now_us() + int(min(seconds, _DELAY_S_MAX) * 1e6 + 0.999)
    return -(-at_us // _STEP_US) * _STEP_US


def _note_failure(pending: Pending) -> None:
    if len(_unseen) < _UNSEEN_KEPT_MAX:
        _unseen[pending.number] = pending


def unseen_failures() -> list[str]:
    """One line for each call that failed and whose result the program did not use, bounded."""
    lines = []
    for pending in list(_unseen.values())[:_UNSEEN_SHOWN_MAX]:
        try:
            pending.result()
        except ToolError as error:
            lines.append(f"{pending.label} failed, and the program did not use its result: {str(error).splitlines()[0][:300]}")
    more = len(_unseen)
    if more:
        lines.append(f"{more} more calls failed, and the program did not use their results")
    return lines
