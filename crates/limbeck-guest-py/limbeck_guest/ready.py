"""Answers that are there already and may be awaited all the same.

Programs written for the earlier systems await some of these functions and not others, so their
results are ordinary lists, tuples and dicts on which `await` gives the object itself.
"""

from collections.abc import Generator
from typing import Any

from .record import Record


class ReadyList(list[Any]):
    """A list that may be awaited."""

    # `asyncio.gather` needs hashable awaitables.
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __await__(self) -> Generator[Any, None, "ReadyList"]:
        return self
        yield


class ReadyTuple(tuple[Any, ...]):
    """A tuple that may be awaited."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __await__(self) -> Generator[Any, None, "ReadyTuple"]:
        return self
        yield


class ReadyRecord(Record):
    """A record that may be awaited."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __await__(self) -> Generator[Any, None, "ReadyRecord"]:
        return self
        yield


class ReadyText(str):
    """A text that may be awaited."""

    def __await__(self) -> Generator[Any, None, "ReadyText"]:
        return self
        yield
