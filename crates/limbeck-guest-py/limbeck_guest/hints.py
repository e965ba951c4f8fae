"""Hints: the next step for an error that ended a program."""

import builtins
import re
import sys
from difflib import get_close_matches
from typing import Any

from . import hint_words as words
from . import misreads, tools
from .errors import ToolError
from .folders import is_outside

_NEAREST = 3
_NAME_CHARS_MAX = 60
# Names that are of use only at an interactive prompt.
_OF_THE_TERMINAL = {"copyright", "credits", "exit", "help", "license", "quit", "breakpoint"}

_NOT_CALLABLE = re.compile(r"'(\w+)' object is not callable")
_NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_JAVASCRIPT = re.compile(r"^\s*(const|let|var|function|export|import .* from|interface|type \w+ =)\b|=>|===|&&|\|\|", re.M)


def hint_for(error: BaseException) -> str | None:
    """The next step for an error, or None. Never raises."""
    try:
        own = getattr(error, "hint", None)
        return own if isinstance(own, str) else _hint(error)
    except Exception:
        # A failing hint must not lose the report of the error itself.
        return None


def _hint(error: BaseException) -> str | None:
    for kind, find in _BY_KIND:
        if isinstance(error, kind):
            return find(error)
    return None


def _of_missing_module(error: ModuleNotFoundError) -> str | None:
    name = (error.name or "").partition(".")[0]
    known = words.MODULES.get(name)
    if known is not None:
        return known
    if (error.name or "").startswith("mcp."):
        return _of_mcp(error.name or "")
    near = get_close_matches(name, [module for module in sys.stdlib_module_names if module[:1] != "_"], 1, 0.75)
    if near and near[0] != name:
        return f"did you mean `{near[0]}`? Only the standard library is available, and packages cannot be installed"
    return "only the standard library is available, and packages cannot be installed; a tool of a server may do it: `search(\"...\")`"


def _of_mcp(name: str) -> str:
    servers = ", ".join(f"`{server}`" for server in tools.server_names()) or "none"
    return f"`mcp` has `runtime` and `servers.<server>`; servers are {servers}"


def _of_import(error: ImportError) -> str | None:
    if error.name and error.name.partition(".")[0] == "mcp":
        return _of_mcp(error.name)
    return None


def _of_name(error: NameError) -> str | None:
    name = error.name
    if not name or isinstance(error, UnboundLocalError):
        return None
    known = words.NAMES.get(name)
    if known is not None:
        return known
    if name in tools.server_names():
        return f"a server is reached through `tools`: `{tools.member('tools', name)}.tool(...)`"
    if name in words.IMPORTS:
        return f"add `{words.IMPORTS[name]}`"
    if name in sys.stdlib_module_names:
        return f"add `import {name}`"
    near = get_close_matches(name[:_NAME_CHARS_MAX], _names_in_reach(error), _NEAREST, 0.6)
    if not near:
        return None
    return f"no such name; the nearest are {', '.join(f'`{other}`' for other in near)}"


def _names_in_reach(error: BaseException) -> list[str]:
    names = set(words.GLOBAL_NAMES) | {name for name in vars(builtins) if name[:1] != "_"} - _OF_THE_TERMINAL
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        names |= set(trace.tb_frame.f_locals) | set(trace.tb_frame.f_globals)
    return sorted(name for name in names if name.isidentifier())


def _of_attribute(error: AttributeError) -> str | None:
    message = str(error)
    found = _NO_ATTRIBUTE.match(message)
    if found is None:
        return None
    kind, name = found.groups()
    if kind == "str" and (name in vars(dict) or name not in vars(str)):
        return misreads.last_loop() or words.TEXT_IS_TEXT
    if kind == "list":
        return "the value before the dot is a list; take an item of it, or loop over it"
    return words.OF_OBJECT.get(kind)


def _of_type(error: TypeError) -> str | None:
    message = str(error)
    callable_ = _NOT_CALLABLE.match(message)
    if callable_ is not None:
        return words.NOT_CALLABLE
    for part, hint in words.TYPE_ERRORS:
        if part in message:
            return misreads.last_loop() or hint if hint is words.TEXT_IS_TEXT else hint
    return None


def _of_os(error: OSError) -> str | None:
    if error.filename is not None and is_outside(error.filename):
        return words.FILES + (_file_tools() or words.FIND_FILE_TOOL)
    if isinstance(error, FileNotFoundError):
        return "/tmp and /workspace are empty when a program starts, and are kept in memory only"
    return None


def _file_tools() -> str | None:
    """The known tools whose names say that they read files and list folders."""
    read = _tool_called("read_text_file", "read_file", "readfile", "get_file")
    if read is None:
        return None
    listing = _tool_called("list_directory", "list_dir", "listdirectory", "list_files")
    return f"`{read}(...)` reads others" + ("" if listing is None else f", `{listing}(...)` lists folders")


def _tool_called(*parts: str) -> str | None:
    for part in parts:
        for server in tools.server_names():
            for tool in tools.known_tools(server):
                if part in tool.lower():
                    return tools.member(tools.member("tools", server), tool)
    return None


def _of_text(error: ValueError) -> str | None:
    if type(error).__name__ == "JSONDecodeError":
        text = getattr(error, "doc", None)
        start = repr(text[:_NAME_CHARS_MAX]) if isinstance(text, str) else "no text"
        return f"the text is not JSON, so use it as it is; it begins with {start}"
    return None


def _of_key(error: KeyError) -> str | None:
    if type(error).__name__ == "ZoneInfoNotFoundError":
        return "zones have names such as `Europe/Berlin` or `UTC`: `zoneinfo.available_timezones()`"
    return None


def _of_call(error: ToolError) -> str | None:
    """Which call it was, and its code: an error that ends a program shows neither."""
    if error.server is None or error.tool is None:
        return None
    call = tools.member(tools.member("tools", error.server), error.tool)
    return f"`{call}` failed with the code `{error.code}`"


_BY_KIND: tuple[tuple[type[BaseException], Any], ...] = (
    (ToolError, _of_call),
    (ModuleNotFoundError, _of_missing_module),
    (ImportError, _of_import),
    (NameError, _of_name),
    (AttributeError, _of_attribute),
    (TypeError, _of_type),
    (RecursionError, lambda error: "check what ends the recursion, or use a loop"),
    (MemoryError, lambda error: "keep only the fields you need, and work through large data in parts"),
    (OSError, _of_os),
    (ValueError, _of_text),
    (KeyError, _of_key),
    (EOFError, lambda error: words.NAMES["input"]),
)


def syntax_hint(error: SyntaxError, program: str) -> str | None:
    """The next step for a program that does not parse."""
    message = error.msg or ""
    line = (error.text or "").strip()
    if message == "'await' outside async function":
        return "write `async def`, or leave `await` out: in a plain function a call of a tool waits for its answer"
    if line.startswith(("!", "%")):
        return "this is not a notebook: there are no commands, and packages cannot be installed"
    if len(_JAVASCRIPT.findall(program)) >= 2:
        return "this looks like TypeScript; send it with the language `typescript`"
    if "invalid character" in message:
        return "write plain quotes and signs as on a keyboard"
    return None
