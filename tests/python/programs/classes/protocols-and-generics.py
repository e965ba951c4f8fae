# Structural types and generic classes the way typed code has them.
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
K = TypeVar("K")

@runtime_checkable
class Source(Protocol):
    def fetch(self, limit: int) -> list[dict[str, Any]]: ...

class Deals:
    def fetch(self, limit: int) -> list[dict[str, Any]]:
        return tools.crm.list_deals()["deals"][:limit]

class Issues:
    def fetch(self, limit: int) -> list[dict[str, Any]]:
        return tools.github.list_issues(owner="a", repo="b", per_page=limit)["issues"]

class Index(Generic[K, T]):
    def __init__(self, key: Callable[[T], K]) -> None:
        self._key = key
        self._items: dict[K, list[T]] = {}

    def add(self, item: T) -> Index[K, T]:
        self._items.setdefault(self._key(item), []).append(item)
        return self

    def __iter__(self) -> Iterator[tuple[K, int]]:
        return ((k, len(v)) for k, v in sorted(self._items.items()))

print(isinstance(Deals(), Source), isinstance(object(), Source))
index: Index[str, dict[str, Any]] = Index(lambda d: d["stage"])
for deal in Deals().fetch(10):
    index.add(deal)
print(dict(index), [i["number"] for i in Issues().fetch(2)])
