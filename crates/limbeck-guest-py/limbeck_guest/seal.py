"""Keeps a program and the prelude apart, so that a program's changes reach itself alone.

It is not a security boundary: that is the WebAssembly instance, and a program can reach everything in it. But a
program that replaces `len` or empties `json` should still get a report of its end.
"""

import builtins
import os
import sys
from types import ModuleType
from typing import Any

from . import refusals
from .source import FILE_NAME

# Modules of the component itself; all others in `sys.modules` are the standard library.
_OURS = ("limbeck_guest", "wit_world", "componentize_py", "app", "preload", "poll_loop")
# They live on here when `sys.modules` no longer has them.
_kept: dict[str, ModuleType] = {}

# Where a program's file would be, were it one, and where modules are that it writes itself.
_HOME = "/workspace"


def _program_builtins() -> ModuleType:
    module = ModuleType("builtins", builtins.__doc__)
    vars(module).update(vars(builtins))
    vars(module).update(refusals.BUILTINS)
    return module


_BUILTINS = _program_builtins()


def keep() -> None:
    """Notes which modules are ours. To be called once, when the component is built."""
    _kept.update((name, module) for name, module in sys.modules.items() if name.startswith(_OURS))


def enter(main: ModuleType, hidden: dict[str, Any]) -> None:
    """Gives a program its own `builtins`, puts its module in place and hides ours. Once, before it runs.

    `hidden` are functions that rewritten programs call, by names that no program can write.
    """
    vars(_BUILTINS).update(hidden)
    vars(main)["__builtins__"] = _BUILTINS
    for name in _kept:
        sys.modules.pop(name, None)
    sys.modules["builtins"] = _BUILTINS
    sys.modules["__main__"] = main
    sys.argv = [FILE_NAME]
    if _HOME not in sys.path:
        sys.path.insert(0, _HOME)
    os.environ["HOME"] = _HOME
    vars(main)["__file__"] = f"{_HOME}/{FILE_NAME}"
