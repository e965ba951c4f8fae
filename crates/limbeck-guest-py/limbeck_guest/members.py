"""Reads of results that mean something else in Python than in the program.

- Fields of records whose names every dict has as methods, such as `page.items` and `row.values`. The program shows which
  of the two it means: `page.items()` calls the method, and `page.items` anywhere else is the field, where there is one. So
  the reads that are not called are rewritten.
- Loops over an object or a text where its items or lines are meant. They are noted, for an error or an empty value
  (`misreads`).
"""

import ast
import re
from typing import Any

from . import misreads
from .lazy import settle
from .record import Record
from .rewrite import at, call_of
from .unawaited import SETTLE_NAME

# Names that no program can write, for `field` and `looped`.
FIELD_NAME = "<field>"
LOOPED_NAME = "<looped>"

_NAMES = frozenset(name for name in vars(dict) if name[:1] != "_")
_READ = re.compile(rf"\bfor\b|\.\s*(?:{'|'.join(sorted(_NAMES))})\b(?!\s*\()")
_KEYS_SHOWN = 8


def field(value: Any, name: str) -> Any:
    """What `value.name` is where it is not called: a record's field, else the attribute of any object."""
    value = settle(value)
    if isinstance(value, Record) and dict.__contains__(value, name):
        return dict.__getitem__(value, name)
    return getattr(value, name)


def looped(value: Any) -> Any:
    """What a loop goes over, unchanged."""
    value = settle(value)
    if isinstance(value, Record):
        keys = [key for key in value if isinstance(key, str)]
        if keys:
            lists = [key for key in keys if isinstance(dict.__getitem__(value, key), list)]
            shown = ", ".join(map(repr, (lists or keys)[:_KEYS_SHOWN]))
            misreads.other(
                f"the loop takes the names of an object's fields; its {'lists are' if lists else 'fields are'} {shown}, "
                "read as `result[\"name\"]`"
            )
    elif type(value) is str and "\n" in value:
        misreads.other("the loop takes the characters of a text; `text.splitlines()` gives its lines")
    return value


def rewrite_reads(tree: ast.Module, text: str) -> None:
    """Has such reads of a program, whose source is `text`, call `field` and `looped`."""
    if not _READ.search(text):
        return
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        changed = _changed(item, node, name)
                        if changed is not item:
                            value[index] = changed
                        stack.append(changed)
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                changed = _changed(value, node, name)
                if changed is not value:
                    setattr(node, name, changed)
                stack.append(changed)


def _changed(node: Any, parent: ast.AST, place: str) -> Any:
    if place == "iter" and _is_loop(parent) and _may_be_result(node):
        node = call_of(LOOPED_NAME, [_changed(node, parent, "value")], node)
    if not isinstance(node, ast.Attribute) or node.attr not in _NAMES or not isinstance(node.ctx, ast.Load):
        return node
    if isinstance(parent, ast.pattern) or isinstance(parent, ast.Call) and place == "func":
        return node
    return call_of(FIELD_NAME, [node.value, ast.Constant(value=node.attr, **at(node))], node)


def _is_loop(parent: ast.AST) -> bool:
    return isinstance(parent, ast.For) or isinstance(parent, ast.comprehension) and not parent.is_async


def _may_be_result(node: Any) -> bool:
    """Whether an expression may be a result: not `range(...)`, `enumerate(...)` and the like."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return bool(node.func.id == SETTLE_NAME)
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Await))
