# `typing.override`, TypedDict in **kwargs, `batched`.
# reference: 3.12
from itertools import batched
from typing import NotRequired, TypedDict, Unpack, override

class Options(TypedDict):
    page: NotRequired[int]
    per_page: NotRequired[int]

class Base:
    def numbers(self, **options: Unpack[Options]) -> list[int]:
        return []

class Issues(Base):
    @override
    def numbers(self, **options: Unpack[Options]) -> list[int]:
        return [i["number"] for i in tools.github.list_issues(owner="a", repo="b", state="all", **options)["issues"]]

print(list(batched(Issues().numbers(page=2, per_page=5), 2)), Issues.numbers.__override__)
