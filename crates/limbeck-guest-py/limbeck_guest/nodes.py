"""Walking the tree of a program. Every start of a program does it several times, so it has to be fast."""

import ast
from typing import Any

_AST, _CONTEXT = ast.AST, ast.expr_context


def walk(tree: ast.AST) -> list[Any]:
    """The nodes of a tree as `ast.walk` gives them, without contexts such as `ast.Load`."""
    nodes: list[Any] = [tree]
    # The loop goes on to the nodes that it adds.
    for node in nodes:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, _AST):
                if not isinstance(value, _CONTEXT):
                    nodes.append(value)
            elif type(value) is list and value:
                nodes += [item for item in value if isinstance(item, _AST)]
    return nodes
