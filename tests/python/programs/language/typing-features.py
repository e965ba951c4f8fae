# Annotations, TypedDict, Literal, Annotated, overload, Final, NewType, get_type_hints, cast.
from typing import Annotated, Any, Final, Literal, NewType, Optional, TypedDict, Union, cast, get_args, get_origin, get_type_hints, overload

class Issue(TypedDict, total=False):
    number: int
    title: str
    state: Literal["open", "closed"]

UserId = NewType("UserId", str)
LIMIT: Final = 3

@overload
def pick(items: list[Issue], at: int) -> Issue: ...
@overload
def pick(items: list[Issue], at: None = ...) -> list[Issue]: ...
def pick(items, at=None):
    return items if at is None else items[at]

def fetch(count: Annotated[int, "at most ten"], state: Optional[str] = None) -> Union[list[Issue], None]:
    args: dict[str, Any] = {"owner": "a", "repo": "b", "per_page": count}
    if state is not None:
        args["state"] = state
    return cast(list[Issue], tools.github.list_issues(args)["issues"])

issues = fetch(LIMIT, "closed")
print(pick(issues, 0)["state"], len(pick(issues)), UserId("U1"), get_args(Issue.__annotations__["number"]) == ())
print(get_origin(list[int]), get_args(dict[str, int]), sorted(get_type_hints(fetch)), Issue.__total__, int | None)
first: Issue = {"number": 1, "title": "x"}
print(isinstance(5, int | str), first, list[int] == list[int], fetch.__annotations__["count"].__metadata__)
