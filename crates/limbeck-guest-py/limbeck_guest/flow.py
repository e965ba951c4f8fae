"""How often a call is made, whether its refusal may be caught, and what becomes of its result.

Only what the text says without doubt: names that are given one value, loops whose heads are constants. Worked
out for the calls of tools alone, over the parents that the one walk of the tree noted.
"""

import ast
from typing import Any

from .facts import Facts, last_name

ANY_ITEM = "[]"
_READS_MAX = 32
_PATH_MAX = 8
_NESTED_MAX = 8
_CLIMB_MAX = 1_000

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LISTS = (ast.List, ast.Tuple, ast.Set)
_ENDLESS = frozenset("count cycle repeat".split())
_OF_DICTS = frozenset("items keys values get pop update copy clear setdefault popitem fromkeys".split())
_ADDERS = frozenset("append add extend insert update appendleft setdefault".split())
# What a handler has to catch to catch the refusal of a call.
_CATCHING = frozenset("ToolError MCPError RuntimeError Exception BaseException ExceptionGroup BaseExceptionGroup".split())

Repeat = Any
ONCE, MANY, ENDLESS = "once", "many", "endless"


class Flow:
    """What the calls of one program do, told one by one."""

    def __init__(self, facts: Facts, tree: ast.Module) -> None:
        self.facts = facts
        self.tree = tree
        self.parents = facts.parents
        self.named: dict[str, list[ast.Name]] | None = None
        self.guards = [guard for guard in facts.guards if _catches(guard)]
        self.any_guard = bool(self.guards) or any(_gathers_failures(call) for call in facts.gathers)

    def climb(self, node: ast.AST) -> Any:
        """The nodes around one, from the inside, each with the node below it."""
        for _ in range(_CLIMB_MAX):
            parent = self.parents.get(id(node))
            if parent is None:
                return
            yield parent, node
            node = parent

    def uses(self, name: str) -> list[ast.Name]:
        """Where a name is read, in whatever scope."""
        if self.named is None:
            self.named = {}
            for node in ast.walk(self.tree):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self.named.setdefault(node.id, []).append(node)
        return self.named.get(name, [])

    # Whether a refusal may be caught.

    def is_guarded(self, node: ast.AST, left: int = _NESTED_MAX) -> bool:
        """Whether the program may catch what comes out of a call: it may try it on purpose."""
        if not self.any_guard:
            return False
        for parent, below in self.climb(node):
            if isinstance(parent, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)):
                if parent in self.guards and below in parent.body:
                    return True
            elif isinstance(parent, ast.Call):
                if _gathers_failures(parent):
                    return True
                if isinstance(below, ast.Lambda):
                    return True
            elif isinstance(parent, (ast.Lambda, ast.ClassDef)):
                return True
            elif isinstance(parent, _FUNCTIONS):
                return self._is_function_guarded(parent, left)
            elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and self.facts.is_async:
                # It may be kept to be awaited elsewhere.
                if not isinstance(below, ast.Await):
                    return True
        return False

    def _is_function_guarded(self, function: Any, left: int) -> bool:
        if left == 0:
            return True
        for use in self.uses(function.name):
            call = self.parents.get(id(use))
            if not isinstance(call, ast.Call) or call.func is not use or self.is_guarded(call, left - 1):
                return True
        return False

    # How often a call is made.

    def repeat(self, node: ast.AST, left: int = _NESTED_MAX) -> Repeat:
        """How often a node is reached when the program runs once."""
        times: Repeat = ONCE
        for parent, below in self.climb(node):
            if isinstance(parent, (ast.For, ast.AsyncFor)):
                times = _within(times, _items(parent.iter) if below in parent.body else ONCE)
            elif isinstance(parent, ast.While):
                endless = isinstance(parent.test, ast.Constant) and bool(parent.test.value)
                times = _within(times, ENDLESS if endless else MANY)
            elif isinstance(parent, _COMPREHENSIONS):
                generators = parent.generators
                if isinstance(below, ast.comprehension):
                    # The first list is made once.
                    generators = generators[: generators.index(below)]
                for generator in generators:
                    times = _within(times, _items(generator.iter))
            elif isinstance(parent, ast.comprehension):
                times = times if below is parent.iter else _within(times, MANY)
            elif isinstance(parent, (ast.ClassDef, ast.Lambda)):
                return _within(times, MANY)
            elif isinstance(parent, _FUNCTIONS):
                return _within(times, self._calls_of(parent, left))
        return times

    def _calls_of(self, function: Any, left: int) -> Repeat:
        uses = self.uses(function.name)
        if left == 0 or self.facts.times_bound(function.name) > 1:
            return MANY
        total: Repeat = None
        for use in uses:
            call = self.parents.get(id(use))
            once = self.repeat(call, left - 1) if isinstance(call, ast.Call) and call.func is use else MANY
            total = once if total is None else _sum(total, once)
        return ONCE if total is None else total

    # What becomes of a result.

    def reads(self, call: ast.Call) -> list[tuple[ast.AST, list[str], bool]]:
        """Parts of the result that the program reads: the node, the path, whether it provides for absence."""
        found: list[tuple[ast.AST, list[str], bool]] = []
        parent = self.parents.get(id(call))
        name = self._gathered(call, parent)
        if name is not None:
            self._bind(name, [], found, set())
        else:
            self._follow(parent if isinstance(parent, ast.Await) else call, [], found, set())
        return found[:_READS_MAX]

    def _gathered(self, call: ast.Call, parent: Any) -> ast.expr | None:
        """`b` of `a, b = await asyncio.gather(x(), call())`."""
        if not isinstance(parent, ast.Call) or last_name(parent.func) != "gather" or call not in parent.args:
            return None
        place = parent.args.index(call)
        if any(isinstance(item, ast.Starred) for item in parent.args[:place]):
            return None
        awaited = self.parents.get(id(parent))
        assigned = self.parents.get(id(awaited)) if isinstance(awaited, ast.Await) else None
        if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1:
            return None
        target = assigned.targets[0]
        if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(item, ast.Starred) for item in target.elts):
            return None
        return target.elts[place] if place < len(target.elts) else None

    def _follow(self, node: ast.AST, path: list[str], found: list[Any], seen: set[int]) -> None:
        while len(path) < _PATH_MAX and id(node) not in seen and len(found) < _READS_MAX:
            seen.add(id(node))
            parent: Any = self.parents.get(id(node))
            if isinstance(parent, ast.Attribute):
                outer = self.parents.get(id(parent))
                if parent.attr in _OF_DICTS or isinstance(outer, ast.Call) and outer.func is parent:
                    return
                path = [*path, parent.attr]
                self._note(parent, path, found)
            elif isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Constant):
                key = parent.slice.value
                if isinstance(key, str):
                    path = [*path, key]
                    self._note(parent, path, found)
                elif isinstance(key, int):
                    path = [*path, ANY_ITEM]
                else:
                    return
            elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
                return self._bind(parent.targets[0], path, found, seen)
            elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)) and parent.value is node:
                return self._bind(parent.target, path, found, seen)
            elif isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
                return self._bind(parent.target, [*path, ANY_ITEM], found, seen)
            else:
                return
            node = parent

    def _bind(self, target: ast.AST, path: list[str], found: list[Any], seen: set[int]) -> None:
        if isinstance(target, ast.Name) and self.facts.times_bound(target.id) == 1:
            for use in self.uses(target.id):
                self._follow(use, path, found, seen)

    def _note(self, node: Any, path: list[str], found: list[Any]) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        optional = self.facts.changes_members or any(
            isinstance(parent, (ast.Try, ast.TryStar)) and below in parent.body for parent, below in self.climb(node)
        )
        found.append((node, path, optional))

    def carry(self, sites: list[ast.Call]) -> list[list[int]]:
        """For each call the calls whose results go into its arguments, by their places in the list."""
        index = {id(call): place for place, call in enumerate(sites)}
        users: list[set[int]] = [set() for _ in sites]
        # Names of one program are used in many of its functions: what becomes of each is found once.
        of_names: dict[str, tuple[set[int], list[str]]] = {}
        for source, call in enumerate(sites):
            takers, waiting = self._carry_from(call, index)
            given: set[str] = set()
            while waiting:
                name = waiting.pop()
                if name in given:
                    continue
                given.add(name)
                if name not in of_names:
                    of_names[name] = self._carry_from_name(name, index)
                takers = takers | of_names[name][0]
                waiting += of_names[name][1]
            for user in takers:
                users[user].add(source)
        return [sorted(user) for user in users]

    def _carry_from_name(self, name: str, index: dict[int, int]) -> tuple[set[int], list[str]]:
        takers: set[int] = set()
        names: list[str] = []
        for use in self.uses(name):
            taken, led = self._carry_from(use, index)
            takers |= taken
            names += (other for other in led if other not in names)
        return takers, names

    def _carry_from(self, node: ast.AST, index: dict[int, int]) -> tuple[set[int], list[str]]:
        """The calls that take a value from here, by their places, and the names that have it then."""
        names: list[str] = []
        returned = False
        for parent, below in self.climb(node):
            if returned and not isinstance(parent, _FUNCTIONS):
                continue
            if isinstance(parent, ast.Call) and below is not parent.func:
                user = index.get(id(parent))
                if user is not None:
                    return {user}, names
                names += self._through(parent)
            elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
                names += [name for target in targets for name in _names(target)]
                break
            elif isinstance(parent, (ast.NamedExpr, ast.withitem)):
                target = parent.target if isinstance(parent, ast.NamedExpr) else parent.optional_vars
                names += _names(target) if target is not None else []
            elif isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and below is parent.iter:
                names += _names(parent.target)
                if not isinstance(parent, ast.comprehension):
                    break
            elif isinstance(parent, ast.Return):
                returned = True
            elif isinstance(parent, _FUNCTIONS):
                names += [parent.name] if returned else []
                break
            elif isinstance(parent, ast.IfExp) and below is parent.test:
                break
            elif isinstance(parent, ast.stmt):
                break
        return set(), names

    def _through(self, call: ast.Call) -> list[str]:
        """Names that have what goes into a call."""
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _ADDERS:
            return _names(function.value)
        if isinstance(function, ast.Name):
            for statement in self.facts.functions.get(function.id, []):
                return [argument.arg for argument in statement.args.args]
        return []


def _names(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def _within(inner: Repeat, outer: Repeat) -> Repeat:
    for kind in (ENDLESS, MANY):
        if kind in (inner, outer):
            return kind
    if ONCE in (inner, outer):
        return outer if inner == ONCE else inner
    return {"at_most": min(inner["at_most"] * outer["at_most"], 0xFFFFFFFF)}


def _sum(one: Repeat, other: Repeat) -> Repeat:
    times = [1 if each == ONCE else each.get("at_most") if isinstance(each, dict) else None for each in (one, other)]
    if None in times:
        return _within(one, other)
    return {"at_most": min(sum(times), 0xFFFFFFFF)}


def _items(node: ast.expr) -> Repeat:
    """How many items a list has that is written down."""
    if isinstance(node, _LISTS) and not any(isinstance(item, ast.Starred) for item in node.elts):
        return {"at_most": len(node.elts)}
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        bounds = [item.value for item in node.args if isinstance(item, ast.Constant) and type(item.value) is int]
        if name == "range" and bounds and len(bounds) == len(node.args):
            try:
                return {"at_most": min(len(range(*bounds)), 0xFFFFFFFF)}
            except (TypeError, ValueError, OverflowError):
                return MANY
        if name in _ENDLESS and len(node.args) < 2:
            return ENDLESS
        if name == "enumerate" and node.args:
            return _items(node.args[0])
    return MANY


def _gathers_failures(call: ast.Call) -> bool:
    return any(
        word.arg == "return_exceptions" and not (isinstance(word.value, ast.Constant) and not word.value.value)
        for word in call.keywords
    )


def _catches(guard: Any) -> bool:
    if isinstance(guard, (ast.With, ast.AsyncWith)):
        entered = [item.context_expr for item in guard.items]
        suppressed = [call.args for call in entered if isinstance(call, ast.Call) and last_name(call.func) == "suppress"]
        return any(last_name(kind) in _CATCHING for kinds in suppressed for kind in kinds)
    return any(
        handler.type is None or any(last_name(kind) in _CATCHING for kind in _kinds(handler.type))
        for handler in guard.handlers
    )


def _kinds(kind: ast.expr) -> list[ast.expr]:
    return kind.elts if isinstance(kind, ast.Tuple) else [kind]
