"""The guest's only door: the functions that the component imports (`world.wit`).

Everything else in the package goes through here, so a test needs to replace only `wit_world`.
"""

import wit_world

TOOL = 1
SEARCH = 2
DESCRIBE = 3
SERVERS = 4
STORE_GET = 5
STORE_SET = 6
READ = 8
ARTIFACT = 9
EMIT = 10
SKILL = 20
WORKSPACE = 21
LLM = 11

STDOUT = 0
STDERR = 1
_WARNING = 2
_GIVEN_UP = 3
_WARNINGS_MAX = 10
_GIVEN_UP_MAX = 64

# Argument of `wait` when no timer is set.
NO_TIMER = -1

Answer = tuple[int, bool, str]

_call = wit_world.call
_log = wit_world.log
_wait = wit_world.wait


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced: the host takes UTF-8 and nothing else."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def call(number: int, op: int, head: str, body: str) -> None:
    """Sends call `number`, counted from 1; both texts are JSON."""
    _call(number, op, well_formed(head), well_formed(body))


def log(stream: int, text: str) -> None:
    """Prints one line, given without its end."""
    if _COROUTINE in text:
        warn_of_coroutine("a printed line")
    _log(stream, well_formed(text))


# How every coroutine begins that was made a text.
_COROUTINE = "<coroutine object "


def warn_of_coroutine(where: str, text: str = _COROUTINE) -> None:
    """Warns when `text` has the text of a coroutine in it."""
    if _COROUTINE in text:
        warn(f"{where} has the text of a coroutine in it; write `await` before the call of its function")


_warned: set[str] = set()


def warn(text: str) -> None:
    """Adds a warning to the envelope, each text once."""
    if len(_warned) < _WARNINGS_MAX and text not in _warned:
        _warned.add(text)
        _log(_WARNING, well_formed(text))


def give_up(numbers: list[int]) -> None:
    """Says for which calls without an answer the program stopped waiting on purpose: it did not forget to await them."""
    if numbers:
        _log(_GIVEN_UP, " ".join(map(str, numbers[:_GIVEN_UP_MAX])))


def wait(wake_at_us: int = NO_TIMER) -> list[Answer]:
    """Waits for answers, or until the clock shows `wake_at_us` (microseconds since 1970)."""
    return _wait(wake_at_us)
