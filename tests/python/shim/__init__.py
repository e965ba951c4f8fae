"""The names a program finds on the engine, for native CPython over the fake world.

This is the reference: it defines in plain Python what a program may rely on, without the engine's
concurrency limits, journal or isolation. `globals_for` gives the names of one program.
"""

import sys
from types import ModuleType
from typing import Any

from shim.calls import Host, ToolError
from shim.native import native_names
from shim.older import older_names
from shim.oldest import oldest_names
from world import World

__all__ = ["ToolError", "globals_for"]


def globals_for(input: Any, *, is_async: bool) -> dict[str, Any]:
    """The globals of one program over a new world; also puts the `mcp` modules in their place."""
    host = Host(World(), is_async)
    names, modules = older_names(host)
    for name, module in modules.items():
        sys.modules[name] = _module(name, module)
    for name in modules:
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])
    return {
        **oldest_names(host),
        **names,
        **native_names(host),
        "runtime": sys.modules["mcp.runtime"],
        "input": host.record(input),
        "ToolError": ToolError,
    }


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(members)
    return module
