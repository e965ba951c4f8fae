"""Fields of records whose names every dict has as methods: `page.items`, `row.values`.

The program shows which of the two it means: `page.items()` calls the method, and `page.items` anywhere else is the
field, where there is one. So the reads that are not called are rewritten.
"""

import ast
import re
from typing import Any

from .lazy import settle
from .record import Record
from .rewrite import at, call_of

# A name that no program can write, for `field`.
FIELD_NAME = "<field>"

_NAMES = frozenset(name for name in vars(dict) if name[:1] != "_")
_READ = re.compile(rf"\.\s*(?:{'|'.join(sorted(_NAMES))})\b(?!\s*\()")


def field(value: Any, name: str) -> Any:
    """What `value.name` is where it is not called: a record's field, else the attribute of any object."""
    value = settle(value)
    if isinstance(value, Record) and dict.__contains__(value, name):
        return dict.__getitem__(value, name)
    return getattr(value, name)


def read_fields(tree: ast.Module, text: str) -> None:
    """Has such reads of a program, whose source is `text`, call `field`."""
    if not _READ.search(text):
        return
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for name, value in list(vars(node).items()):
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        value[index] = _changed(item, node, name)
                        stack.append(value[index])
            elif isinstance(value, ast.AST):
                setattr(node, name, changed := _changed(value, node, name))
                stack.append(changed)


def _changed(node: Any, parent: ast.AST, place: str) -> Any:
    if not isinstance(node, ast.Attribute) or node.attr not in _NAMES or not isinstance(node.ctx, ast.Load):
        return node
    if isinstance(parent, ast.pattern) or isinstance(parent, ast.Call) and place == "func":
        return node
    return call_of(FIELD_NAME, [node.value, ast.Constant(value=node.attr, **at(node))], node)
