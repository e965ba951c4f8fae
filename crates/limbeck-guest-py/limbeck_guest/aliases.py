"""Names of servers and tools as the earlier Python system made them out of the original ones."""

import keyword
import re
from collections.abc import Callable, Iterable

_OTHERS = re.compile(r"[^a-z0-9_]+")


def server_alias(name: str) -> str:
    """Lower case, runs of other characters as `_`, and `_` before a leading digit."""
    alias = _OTHERS.sub("_", name.lower()) or "_"
    return f"_{alias}" if alias[0].isdigit() else alias


def tool_alias(name: str) -> str:
    """The same; a name that Python reserves gets `_` behind it."""
    alias = server_alias(name)
    return f"{alias}_" if keyword.iskeyword(alias) else alias


def aliases(names: Iterable[str], alias_of: Callable[[str], str] = server_alias) -> dict[str, str]:
    """The original names by their aliases, in order; one that is taken becomes `name_2`, `name_3` and so on."""
    made: dict[str, str] = {}
    for name in names:
        alias = base = alias_of(name)
        number = 2
        while alias in made:
            alias = f"{base}_{number}"
            number += 1
        made[alias] = name
    return made
