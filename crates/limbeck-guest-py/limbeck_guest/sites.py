"""The calls of tools that stand in a program, as facts for the gateway to judge before it runs.

Only names that are constants count, and only where `tools` (or whatever the call begins with) is not a
name that the program gives another meaning. A call whose refusal the program may catch is marked: it may try
it on purpose. See `domain::site` for the form of the facts.
"""

import ast
import keyword
from typing import Any

from . import calls, host, jsontext, values
from .compat_runtime import server_by_alias
from .errors import ToolError
from .facts import Facts
from .flow import Flow
from .source import Source

SITES_MAX = 500
BODY_BYTES_MAX = 256 << 10
# Names that stand for one another.
_ALIASES_MAX = 8

_print = jsontext.printer(None)
_VARIABLE = object()


class Unfit(Exception):
    """The program does not fit the tools it calls."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__("the program does not fit the tools it calls")
        self.errors = errors


def check(program: Source, runs: bool) -> list[str]:
    """Has the calls judged and gives the warnings. Raises Unfit when one would surely be refused.

    Of a program that does not run the gateway wants to know even that there is nothing to judge.
    """
    found, dynamic = sites_of(program)
    # A refusal that the program may catch is its own affair.
    if runs and all(site.get("guarded") for site in found):
        return []
    try:
        answer = calls.ask(host.CHECK, _body(found, dynamic), "check")
    except ToolError:
        # A gateway that cannot judge lets the program run; it judges every call again.
        return []
    errors = answer.get("errors") if isinstance(answer, dict) else None
    if errors:
        raise Unfit(errors)
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    return [text for text in warnings or [] if isinstance(text, str)]


def _body(found: list[dict[str, Any]], dynamic: list[dict[str, Any]]) -> str:
    """As many sites as fit, from the first."""
    found, dynamic = found[:SITES_MAX], dynamic[:SITES_MAX]
    while True:
        body = _print({"sites": found, "dynamic": dynamic} if dynamic else {"sites": found})
        if len(body.encode("utf-8", "replace")) <= BODY_BYTES_MAX:
            return body
        found, dynamic = found[: len(found) // 2], dynamic[: len(dynamic) // 2]


def sites_of(program: Source) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One entry for each call of a tool, in the order of the text, and the places where it is not known which."""
    facts = program.facts
    named = _chains(facts)
    through = [(chain, call) for name, chain in named.items() for call in facts.other_calls.get(name, ())]
    if not facts.calls and not through:
        return [], []
    servers = server_by_alias()
    imported = _Imported(facts, servers)
    lines = program.text.split("\n")
    found: list[tuple[ast.Call, dict[str, Any], list[str] | None]] = []
    dynamic = []
    for chain, call in [*(([root], call) for root, call in facts.calls), *through]:
        root = chain[0]
        names = _constant_names(call.func)
        names = names and chain + names[1:]
        target = imported.target(root, call)
        if target is None and (root not in facts.bound or root in imported.meant):
            target = _target(root, names, call, servers)
            if target is None and _is_dynamic(chain, call):
                dynamic.append({"line": call.lineno, "column": _column(call, lines)})
        if target is not None:
            missing = id(call) in program.unawaited and root != "call_mcp_tool"
            found.append((call, _site(call, *target, lines=lines, awaited=not missing), names))
    found.sort(key=lambda each: (each[1]["line"], each[1]["column"]))
    del found[SITES_MAX:]
    dynamic.sort(key=lambda place: (place["line"], place["column"]))
    try:
        _add_flow(found, Flow(facts, program.tree), lines)
    except RecursionError:
        # A program too deep to be followed is told as far as it was.
        pass
    return [site for _, site, _ in found], dynamic


def _chains(facts: Facts) -> dict[str, list[str]]:
    """Names that stand for parts of `tools` and its like, as in `s = tools.server`: each given one value, once."""
    chains: dict[str, list[str]] = {}
    for name in facts.chains:
        names = [name]
        for _ in range(_ALIASES_MAX):
            value = facts.chains.get(names[0])
            longer = _constant_names(value) if value is not None and facts.times_bound(names[0]) == 1 else None
            if longer is None:
                break
            names = longer + names[1:]
        root = names[0]
        if len(names) > 1 and (root in ("tools", "mcp_servers") or root.startswith("mcp_")) and root != name:
            chains[name] = names
    return chains


def _add_flow(found: list[tuple[ast.Call, dict[str, Any], list[str] | None]], flow: Flow, lines: list[str]) -> None:
    reads_left = 1_000
    for (call, site, names), uses in zip(found, flow.carry([call for call, _, _ in found])):
        if flow.is_guarded(call):
            site["guarded"] = True
        repeat = flow.repeat(call)
        if repeat != "once":
            site["repeat"] = repeat
        if uses:
            site["uses"] = uses
        # Every other form gives the result itself in some form, and not its value.
        if names is None or names[0] != "tools" or len(names) != 3:
            continue
        reads = [
            {"line": node.end_lineno or node.lineno, "column": _read_column(node, lines), "path": path, "optional": optional}
            for node, path, optional in flow.reads(call)[:reads_left]
        ]
        reads_left -= len(reads)
        if reads:
            site["reads"] = reads


def _is_dynamic(chain: list[str], call: ast.Call) -> bool:
    """Whether a call is surely one of a tool, and only the running program knows which."""
    root = chain[0]
    if root in ("call_tool", "acall_tool", "call_mcp_tool"):
        return isinstance(call.func, ast.Name)
    depth, node = len(chain) - 1, call.func
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        depth, node = depth + 1, node.value
    return root == "tools" and isinstance(node, ast.Name) and depth == 2


class _Imported:
    """Names that import statements give."""

    def __init__(self, facts: Facts, servers: dict[str, str]) -> None:
        # Those that mean what they mean without an import.
        self.meant: set[str] = set()
        # Tools by the names they were given.
        self.tools: dict[str, tuple[str, str]] = {}
        given: dict[str, int] = {}
        for statement in facts.imports:
            package, _, alias = (statement.module or "").rpartition(".")
            for name in statement.names:
                here = name.asname or name.name
                given[here] = given.get(here, 0) + 1
                if statement.module == "mcp" and here == name.name:
                    self.meant.add(here)
                elif package == "mcp.servers" and alias in servers:
                    self.tools[here] = (servers[alias], name.name)
        # A name that is imported and given another value too may be either.
        self.tools = {name: tool for name, tool in self.tools.items() if given[name] == facts.times_bound(name)}

    def target(self, root: str, call: ast.Call) -> "Target | None":
        if root in self.tools and isinstance(call.func, ast.Name):
            return *self.tools[root], call.args, call.keywords
        return None


# Server, tool, positional and named arguments.
Target = tuple[str | None, str, list[ast.expr], list[ast.keyword]]


def _target(root: str, names: list[str] | None, call: ast.Call, servers: dict[str, str]) -> Target | None:
    """What a call is of, when its names are constants."""
    if names is None:
        return None
    if root == "mcp_servers" and len(names) == 3 and names[2] != "list_tools":
        return names[1], names[2], call.args, call.keywords
    if root.startswith("mcp_") and root[4:] in servers and len(names) == 2 and names[1] != "list_tools":
        return servers[root[4:]], names[1], call.args, call.keywords
    if root == "tools" and len(names) in (3, 4) and (len(names) == 3 or names[3] == "raw"):
        return names[1], names[2], call.args, call.keywords
    if root in ("call_tool", "acall_tool", "call_mcp_tool") and len(names) == 1:
        return _by_full_name(root, call)
    if root == "runtime" and names[1:] == ["call_tool"]:
        return _by_two_names(call)
    return None


def _constant_names(node: ast.expr) -> list[str] | None:
    """`["tools", "a", "b"]` for `tools.a["b"]`."""
    names: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            names.append(node.slice.value)
        else:
            return None
        node = node.value
    names.append(node.id)
    return names[::-1]


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _by_full_name(root: str, call: ast.Call) -> Any:
    name = _text(call.args[0]) if call.args else None
    if name is None:
        return None
    keywords = list(call.keywords)
    rest = call.args[1:]
    if rest and _text(rest[0]) is not None:
        arguments = [item.value for item in keywords if item.arg == "arguments"] if root == "call_mcp_tool" else []
        return name, _text(rest[0]), [*rest[1:], *arguments], [] if arguments else keywords
    if root == "call_mcp_tool":
        for index, word in enumerate(keywords):
            if word.arg in ("params", "arguments"):
                rest = [*rest, keywords.pop(index).value]
                break
    server, tool = (None, name) if name.startswith("mcp__") else name.partition(".")[::2]
    if not name.startswith("mcp__") and not tool:
        return None
    return server, tool, rest, keywords


def _by_two_names(call: ast.Call) -> Any:
    named = {word.arg: word.value for word in call.keywords}
    given = [*call.args[:3]]
    for name in ("server", "tool", "arguments")[len(given) :]:
        if name in named:
            given.append(named[name])
    if len(given) < 2:
        return None
    server, tool = _text(given[0]), _text(given[1])
    return (server, tool, given[2:], []) if server is not None and tool is not None else None


def _site(
    call: ast.Call, server: str | None, tool: str, positional: list[ast.expr], keywords: list[ast.keyword], *,
    lines: list[str], awaited: bool,
) -> dict[str, Any]:  # fmt: skip
    arguments: dict[str, dict[str, Any]] = {}
    complete = True
    if positional:
        complete = _arguments_of_dict(positional[0], arguments)
    for word in keywords:
        if word.arg is None:
            # Unlike in a dict display, a name that is there already would be refused, not replaced.
            more: dict[str, dict[str, Any]] = {}
            complete = _arguments_of_dict(word.value, more) and complete
            arguments |= more
        else:
            reserved = word.arg.endswith("_") and keyword.iskeyword(word.arg[:-1])
            _add(arguments, word.arg[:-1] if reserved else word.arg, word.value)
    site: dict[str, Any] = {"line": call.lineno, "column": _column(call, lines)}
    if server is not None:
        site["server"] = server
    extra = sum(not isinstance(item, ast.Starred) for item in positional[1:])
    if positional and _is_no_dict(positional[0]):
        extra += 1
    return site | {
        "tool": tool, "arguments": list(arguments.values()), "complete": complete, "positional": extra, "awaited": awaited,
    }  # fmt: skip


def _is_no_dict(node: ast.expr) -> bool:
    """Whether an expression is surely neither a dictionary nor `None`."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    return isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.JoinedStr))


def _column(call: ast.Call, lines: list[str]) -> int:
    """The column in characters; the tree counts bytes."""
    return _characters(lines[call.lineno - 1], call.col_offset) + 1


def _read_column(node: Any, lines: list[str]) -> int:
    """The column of the name at the end of an attribute, or of the end of a subscript's value."""
    line = lines[(node.end_lineno or node.lineno) - 1]
    if isinstance(node, ast.Attribute):
        return _characters(line, node.end_col_offset or 0) - len(node.attr) + 1
    return _characters(line, node.slice.col_offset) + 1


def _characters(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode("utf-8", "replace"))


def _arguments_of_dict(node: ast.expr, arguments: dict[str, dict[str, Any]]) -> bool:
    """Adds what a dict display names; whether that is all there is.

    A later entry replaces an earlier one of its name. What is not named may replace any: the values before it
    are not known.
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return True
    if not isinstance(node, ast.Dict):
        _forget_values(arguments)
        return False
    complete = True
    for key, value in zip(node.keys, node.values):
        if key is None:
            complete = _arguments_of_dict(value, arguments) and complete
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            _add(arguments, key.value, value)
        else:
            _forget_values(arguments)
            complete = False
    return complete


def _forget_values(arguments: dict[str, dict[str, Any]]) -> None:
    for argument in arguments.values():
        argument.pop("value", None)


def _add(arguments: dict[str, dict[str, Any]], name: str, node: ast.expr) -> None:
    value = _constant(node)
    arguments[name] = {"name": name} if value is _VARIABLE else {"name": name, "value": value}


def _constant(node: ast.expr) -> Any:
    """The JSON value of a literal; `_VARIABLE` for what is known only when the program runs."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _VARIABLE
    try:
        return jsontext.decode(values.encode_arguments(value))
    except (TypeError, ValueError, RecursionError):
        return _VARIABLE
