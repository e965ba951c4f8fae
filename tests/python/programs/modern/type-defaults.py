# Defaults of type parameters, `copy.replace` and `warnings.deprecated` of Python 3.13.
# reference: 3.13
import copy
import warnings
from dataclasses import dataclass

@dataclass(frozen=True)
class Query[T = int]:
    page: T
    size: int = 10

@warnings.deprecated("use fetch_all")
def fetch(query: Query) -> int:
    return len(tools.github.list_issues(owner="a", repo="b", page=query.page, per_page=query.size)["issues"])

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print(fetch(copy.replace(Query(1), size=4)), [str(w.message) for w in seen])
