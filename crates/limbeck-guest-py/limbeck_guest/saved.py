"""Functions that programs of earlier releases kept with `save_tool`, and skills under their bare names.

A function that was kept is found by its name alone, as users of an earlier system write it. It is asked for only when a
program reads a name that nothing else explains.
"""

import ast
import builtins
from collections.abc import Callable
from typing import Any

from . import calls, host, jsontext, members, skills
from .errors import ToolError
from .facts import Facts, gather

# Where earlier releases kept them: one value of the store, by name.
STORE_KEY = "limbeck:saved_tools"
SAVED_FILE_NAME = "saved_tools.py"

_print = jsontext.printer(None)
_BUILTIN_NAMES = frozenset(vars(builtins))


def _load() -> dict[str, str]:
    value = calls.ask(host.STORE_GET, f'{{"key":{_print(STORE_KEY)}}}', "save_tool")
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def provide(facts: Facts, names: dict[str, Any], names_for: Callable[[str, Facts], dict[str, Any]]) -> None:
    """Adds skills and saved functions to `names` that the program uses and does not define.

    `names_for(text, facts)` are the names of servers and tools that a text uses. A saved function brings its own, as the
    program that calls it need not write any of them.
    """
    wanted = facts.loaded - facts.bound - names.keys() - _BUILTIN_NAMES
    if not wanted:
        return
    try:
        for found in skills.find(wanted):
            names[found["name"]] = skills.made(found)
        wanted -= names.keys()
        saved = _load() if wanted else {}
    except ToolError:
        # Without a store nothing was saved; the program will hear that the name does not exist.
        return
    waiting = [name for name in sorted(wanted) if name in saved]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        tree = ast.parse(saved[name], SAVED_FILE_NAME)
        uses = gather(tree)
        members.rewrite_reads(tree, saved[name])
        for other, value in names_for(saved[name], uses).items():
            names.setdefault(other, value)
        exec(compile(tree, SAVED_FILE_NAME, "exec", dont_inherit=True), names)
        waiting += [other for other in sorted(uses.loaded) if other in saved and other not in names]
