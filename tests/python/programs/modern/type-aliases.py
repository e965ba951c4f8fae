# The `type` statement and generic functions and classes of Python 3.12.
# reference: 3.12
type Row = dict[str, int | str]
type Rows[T] = list[T]

def first[T](items: list[T], default: T | None = None) -> T | None:
    return items[0] if items else default

class Stack[T]:
    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self

    def pop(self) -> T:
        return self._items.pop()

rows: Rows[Row] = [{"number": i["number"]} for i in tools.github.list_issues(owner="a", repo="b", per_page=2)["issues"]]
print(first(rows), first([]), Stack[int]().push(1).push(2).pop(), Row.__name__, first.__type_params__)
