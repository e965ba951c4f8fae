"""`skills`: functions and programs that are kept for later programs.

`skills.name(...)` asks for the source and runs it here, so that its calls are calls of this program. A skill has names of its
own: it neither sees nor changes those of the program that calls it.
"""

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Iterable
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

from . import calls, host, jsontext, members, source
from .catalog import require_text
from .errors import ToolError
from .facts import TOOL_ROOTS, Facts, gather

_print = jsontext.printer(None)
_getsource = inspect.getsource
_signature = inspect.signature
_getdoc = inspect.getdoc
_BUILTIN_NAMES = frozenset(vars(builtins))
_HELPERS_MAX = 100

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SAVERS = frozenset(("save_tool", "save_skill", "save"))

# Functions of this program that were given to `save_tool`, so that they are not its value.
_saved_here: list[Any] = []


class _State:
    """What a skill finds beside its own names; set when the program begins."""

    names: dict[str, Any] = {}
    names_for: Callable[[str, Facts], dict[str, Any]]
    entry: Callable[[source.Source], Any]
    run: Callable[[types.ModuleType, CodeType, Any], Any]


def begin(
    names: dict[str, Any], names_for: Callable[[str, Facts], dict[str, Any]], entry: Callable[[source.Source], Any],
    run: Callable[[types.ModuleType, CodeType, Any], Any],
) -> None:  # fmt: skip
    """Says what every skill finds: `names`, and those that `names_for` gives for its text. `run` runs the code of a program,
    and `entry` finds the function that it is about."""
    _State.names, _State.names_for = names, names_for
    _State.entry, _State.run = entry, run
    _loaded.clear()
    _saved_here.clear()


def is_saved(value: Any) -> bool:
    """Whether a value is a function that this program gave to `save_tool`."""
    return isinstance(value, FunctionType) and any(value is function for function in _saved_here)


# --- keeping ---


def save_tool(function: Any = None, **options: Any) -> Any:
    """Keeps a function under its name. As a decorator it gives the function back."""
    if function is None and options and "execution" not in options:
        # `@save_tool(description="…")`
        return lambda decorated: save_tool(decorated, **options)
    save(function, _label="save_tool", **options)
    return function


def save(
    function: Any = None, name: Any = None, *, description: Any = None, helpers: Any = None, if_version: Any = None,
    execution: Any = None, _label: str = "skills.save",
) -> Any:  # fmt: skip
    """Keeps a function, or with `name` and `execution` the program of an execution that completed. Gives name and version."""
    if isinstance(function, str):
        # Some write the name first.
        function, name = (name, function) if isinstance(name, FunctionType) else (None, function)
    body: dict[str, Any] = {"do": "save"}
    if execution is not None:
        body |= {"name": require_text(name, _label), "execution": require_text(execution, _label)}
    else:
        if not isinstance(function, FunctionType) or function.__name__ == "<lambda>" and name is None:
            raise TypeError(f"{_label} takes a function that has a name; got a {type(function).__name__}")
        body |= {"name": name or function.__name__, "source": _source_of(function, helpers or {}, _label, name)}
        body["arguments"] = _arguments_of(function)
        description = description or _getdoc(function)
        _saved_here.append(function)
    if description is not None:
        body["description"] = require_text(description, _label)
    if if_version is not None:
        body["if_version"] = if_version
    _loaded.pop(body["name"], None)
    return calls.ask(host.SKILL, _print(body), _label)


def _arguments_of(function: FunctionType) -> str:
    try:
        return str(_signature(function))
    except (TypeError, ValueError):
        return "(...)"


def _source_of(function: FunctionType, helpers: dict[str, Any], label: str, name: str | None) -> str:
    """The source of a function, with what it uses of the program around it."""
    try:
        tree = ast.parse(dedent(_getsource(function)))
    except (OSError, TypeError, SyntaxError):
        raise ValueError(f"{label}: the source of {function.__name__!r} is not known") from None
    definition = tree.body[0]
    if not isinstance(definition, _DEFINITIONS):
        # A lambda is part of a statement.
        raise TypeError(f"{label} takes a function that has a name; write `def`")
    # As a decorator it would save itself again each time it is loaded.
    definition.decorator_list = [item for item in definition.decorator_list if not _is_saver(item)]
    around = _Around(function, helpers)
    around.bring(_facts(tree), frozenset((definition.name,)))
    if around.missing:
        names = ", ".join(f"`{one}`" for one in around.missing)
        raise ToolError(
            f"{label}: {function.__name__!r} uses {names} of this program, which cannot be kept with it",
            {
                "code": "invalid_arguments",
                "hint": "pass it to the function as an argument, or give its value now: `skills.save(f, helpers={\"name\": name})`",
            },
        )
    lines = [*around.lines(), ast.unparse(tree)]
    if name is not None and name != definition.name:
        lines.append(f"{name} = {definition.name}")
    return "\n".join(lines)


def _is_saver(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    named = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", None)
    return named in _SAVERS


class _Around:
    """What a function uses of its program."""

    def __init__(self, function: FunctionType, helpers: dict[str, Any]) -> None:
        self.function = function
        self.helpers = helpers
        self.body = _program_of(function)
        self.kept: dict[str, tuple[int, str]] = {}
        self.missing: list[str] = []

    def lines(self) -> list[str]:
        ordered = sorted(self.kept.values(), key=lambda one: one[0])
        return list(dict.fromkeys(text for _, text in ordered))

    def bring(self, facts: Facts, own: frozenset[str]) -> None:
        """Adds what names mean that a piece of source reads and does not bind itself."""
        for name in sorted(facts.loaded - facts.bound - own):
            if name in self.kept or name in self.missing or len(self.kept) >= _HELPERS_MAX:
                continue
            self._bring(name)

    def _bring(self, name: str) -> None:
        if name in self.helpers:
            self._value(name, self.helpers[name])
            return
        for statement in self.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                if name in {alias.asname or alias.name.partition(".")[0] for alias in statement.names}:
                    self.kept[name] = (0, ast.unparse(statement))
                    return
            elif isinstance(statement, _DEFINITIONS) and statement.name == name:
                self._statement(name, statement)
                return
            elif name in _targets_of(statement):
                self._statement(name, statement)
                return
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=False))
        if name in cells:
            self._value(name, cells[name].cell_contents)
        elif name in self.function.__globals__ and name not in _State.names and name not in _BUILTIN_NAMES:
            given = self.function.__globals__[name]
            if not isinstance(given, types.ModuleType) and not name.startswith("mcp_"):
                self._value(name, given)

    def _statement(self, name: str, statement: ast.stmt) -> None:
        """A definition or an assignment, unless it depends on what a tool answered or on the input."""
        if isinstance(statement, _DEFINITIONS):
            statement.decorator_list = [item for item in statement.decorator_list if not _is_saver(item)]
        facts = _facts(ast.Module(body=[statement], type_ignores=[]))
        if not isinstance(statement, _DEFINITIONS) and (_waits(statement) or _asks(facts.loaded)):
            self.missing.append(name)
            return
        self.kept[name] = (statement.lineno, ast.unparse(statement))
        self.bring(facts, frozenset((name,)))

    def _value(self, name: str, value: Any) -> None:
        if isinstance(value, FunctionType) and value.__name__ != "<lambda>":
            try:
                tree = ast.parse(dedent(_getsource(value)))
            except (OSError, TypeError, SyntaxError):
                self.missing.append(name)
                return
            self.kept[name] = (0, ast.unparse(tree) + ("" if value.__name__ == name else f"\n{name} = {value.__name__}"))
            self.bring(_facts(tree), frozenset((name, value.__name__)))
            return
        text = _literal(value)
        if text is None:
            self.missing.append(name)
        else:
            self.kept[name] = (0, f"{name} = {text}")


def _facts(tree: ast.Module) -> Facts:
    """The facts of a piece of source; what it declares `global` is not its own."""
    facts = gather(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            facts.bound.difference_update(node.names)
            facts.loaded.update(node.names)
    return facts


def _targets_of(statement: ast.stmt) -> set[str]:
    """Names that an assignment gives values to."""
    match statement:
        case ast.Assign(targets=targets):
            found = targets
        case ast.AnnAssign(target=target) if statement.value is not None:
            found = [target]
        case _:
            return set()
    return {node.id for target in found for node in ast.walk(target) if isinstance(node, ast.Name)}


def _waits(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Await) for node in ast.walk(statement))


def _asks(names: Iterable[str]) -> bool:
    """Whether names are those of tools, of the input or of what other programs kept."""
    return any(name in TOOL_ROOTS or name in ("input", "skills", "callMCPTool") or name.startswith("mcp_") for name in names)


def _program_of(function: FunctionType) -> list[ast.stmt]:
    """The statements of the program that defines a function."""
    try:
        return ast.parse("".join(inspect.findsource(function)[0])).body
    except (OSError, TypeError, SyntaxError):
        return []


def _literal(value: Any, depth: int = 0) -> str | None:
    """A value as source; None for one that has none."""
    if value is None or type(value) in (bool, int, str, bytes) or type(value) is float and value == value and abs(value) != float("inf"):
        return repr(value)
    if depth > 20:
        return None
    if isinstance(value, dict):
        pairs = [(_literal(key, depth + 1), _literal(one, depth + 1)) for key, one in value.items()]
        if any(key is None or one is None for key, one in pairs):
            return None
        return "{" + ", ".join(f"{key}: {one}" for key, one in pairs) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_literal(one, depth + 1) for one in value]
        if any(one is None for one in items):
            return None
        inside = ", ".join(str(one) for one in items)
        if isinstance(value, list):
            return f"[{inside}]"
        if isinstance(value, tuple):
            return f"({inside}{',' if len(items) == 1 else ''})"
        return f"{type(value).__name__}([{inside}])"
    return None


# --- calling ---

_loaded: dict[str, Any] = {}


def load(name: str) -> Any:
    """The function of a skill; asks for it once in a program."""
    if name not in _loaded:
        found = calls.ask(host.SKILL, _print({"do": "get", "name": name}), f"skills.{name}")
        _loaded[name] = made(found)
    return _loaded[name]


def made(found: dict[str, Any]) -> Any:
    """The function of what the gateway has of a skill."""
    name, text = found["name"], found["source"]
    if found["form"] == "program":
        return _program(name, text)
    tree = ast.parse(text)
    facts = gather(tree)
    members.rewrite_reads(tree, text)
    names = vars(_module(name, text, facts))
    exec(_renamed(compile(tree, source.FILE_NAME, "exec", dont_inherit=True), name), names)
    # What it uses and neither has nor finds may be a skill as well.
    for other in find(facts.loaded - facts.bound - names.keys() - _BUILTIN_NAMES):
        names.setdefault(other["name"], made(other))
    return names[name]


def find(names: Iterable[str]) -> list[dict[str, Any]]:
    """Those of some names that are skills."""
    wanted = sorted(name for name in names if name.isascii() and name[:1] != "_")
    return calls.ask(host.SKILL, _print({"do": "find", "names": wanted}), "skills") if wanted else []


def _module(name: str, text: str, facts: Facts) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(_State.names)
    vars(module).update(_State.names_for(text, facts))
    return module


def _program(name: str, text: str) -> Callable[..., Any]:
    def run(given: Any = None, **named: Any) -> Any:
        program = source.read(text)
        entry = _State.entry(program)
        code = _renamed(source.code_of(program, entry), name)
        module = _module(name, program.text, program.facts)
        module.input = named if given is None and named else given  # type: ignore[attr-defined]
        return _State.run(module, code, entry)

    run.__name__ = run.__qualname__ = name
    return run


def _renamed(code: CodeType, name: str) -> CodeType:
    """Code whose places are those of the skill: the lines of the program are others."""
    inside = tuple(_renamed(one, name) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=f"<skill {name}>", co_consts=inside)


class Skills:
    """`skills.name(...)`, `skills.save(function)`, `skills.list()`, `skills.remove(name)`."""

    __slots__ = ()

    save = staticmethod(save)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        return Skill(name)

    def __getitem__(self, name: str) -> Any:
        return Skill(require_text(name, "skills"))

    def get(self, name: str) -> Any:
        return self[name]

    def list(self) -> Any:
        """The skills there are: `[{"name", "call", "signature", "description", "language", "version"}]`."""
        return calls.ask(host.SKILL, '{"do":"list"}', "skills.list")

    def remove(self, name: str, if_version: int | None = None) -> Any:
        """Removes a skill; gives whether there was one."""
        body = {"do": "remove", "name": require_text(name, "skills.remove")}
        if if_version is not None:
            body["if_version"] = if_version  # type: ignore[assignment]
        _loaded.pop(name, None)
        return calls.ask(host.SKILL, _print(body), "skills.remove")

    def __repr__(self) -> str:
        return "[skills]"


class Skill:
    """One skill, which is asked for when it is called."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return load(self._name)(*arguments, **named)

    def __repr__(self) -> str:
        return f"[skills.{self._name}]"


def named_in(tree: ast.Module, facts: Facts) -> frozenset[str] | None:
    """Names that a program imports from `skills`; None where it does not use skills at all."""
    imported = set()
    uses = "skills" in facts.loaded
    for node in ast.walk(tree) if "skills" in facts.bound or _imports(tree) else ():
        if isinstance(node, ast.ImportFrom) and node.module in ("skills", "limbeck.skills"):
            uses = True
            imported.update(alias.asname or alias.name for alias in node.names)
    return frozenset(imported) if uses else None


def _imports(tree: ast.Module) -> bool:
    return any(isinstance(statement, ast.ImportFrom) for statement in tree.body)


def settle_awaited(tree: ast.Module, imported: frozenset[str], settled: str) -> None:
    """Has `await skills.name(...)` take what a plain function gives: a skill is awaited or not, waiting or plain."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call) and _is_skill(node.value.func, imported):
            inner = node.value
            function = ast.copy_location(ast.Name(settled, ast.Load()), inner)
            node.value = ast.copy_location(ast.Call(function, [inner], []), inner)


def _is_skill(function: ast.expr, imported: frozenset[str]) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id="skills")):
            return True
        case ast.Name(id=name):
            return name in imported
        case _:
            return False
