"""`workspace`: files that outlive the program. A program that names `/projects` has them as files there.

An earlier system had its lasting files at `/projects`. They are read before such a program runs, and what it wrote is kept after
it, by host calls: a replay sees the same.
"""

import ast
import base64
import os
from typing import Any

from . import calls, host, jsontext, tools
from .catalog import require_text
from .errors import ToolError

_print = jsontext.printer(None)
_open, _makedirs, _walk, _join = open, os.makedirs, os.walk, os.path.join

# The name that programs write, and the folder in memory in its place.
_NAME = "/projects"
_FOLDER = "/workspace/projects"
# Files that are read and written for one program.
_FILES_MAX = 500
_BYTES_MAX = 16 << 20


def _ask(action: str, path: str, **more: Any) -> Any:
    body = {"do": action, "path": require_text(path, f"workspace.{action}"), **more}
    return calls.start(host.WORKSPACE, "", _print(body), f"workspace.{action}")


def _bytes_of(found: dict[str, Any]) -> bytes:
    text = found.get("text")
    return base64.b64decode(found["base64"]) if text is None else text.encode()


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class Workspace:
    """`workspace.read(path)`, `.read_bytes(path)`, `.write(path, content)`, `.list(folder)`, `.remove(path)`."""

    __slots__ = ()

    def read(self, path: str) -> Any:
        """The text of a file."""
        return _bytes_of(_ask("read", path).result()).decode("utf-8", "replace")

    def read_bytes(self, path: str) -> Any:
        return _bytes_of(_ask("read", path).result())

    def write(self, path: str, content: Any) -> Any:
        """Writes a text, bytes, or the JSON of another value."""
        if isinstance(content, (bytes, bytearray)):
            return tools.answer(_ask("write", path, **_content(bytes(content))))
        text = str(content) if isinstance(content, str) else _print(content)
        return tools.answer(_ask("write", path, text=text))

    def list(self, folder: str = "") -> Any:
        """Files, or those below a folder: `[{"path", "bytes"}]`."""
        return tools.answer(_ask("list", folder))

    def remove(self, path: str) -> Any:
        return tools.answer(_ask("remove", path))

    def __repr__(self) -> str:
        return "[workspace]"


class Mapping:
    """The files of the workspace as files of a program."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.before: dict[str, bytes] = {}
        self.is_used = _NAME in text and _rename(tree)

    def fetch(self) -> None:
        """Writes the files into the folder of the program."""
        if not self.is_used:
            return
        total = 0
        _makedirs(_FOLDER, exist_ok=True)
        try:
            for found in _ask("list", "").result()[:_FILES_MAX]:
                total += found["bytes"]
                if total > _BYTES_MAX:
                    host.warn(f"the workspace has more files than a program finds in {_NAME}; read them with `workspace.read(path)`")
                    return
                data = _bytes_of(_ask("read", found["path"]).result())
                path = _join(_FOLDER, found["path"])
                _makedirs(os.path.dirname(path), exist_ok=True)
                with _open(path, "wb") as file:
                    file.write(data)
                self.before[found["path"]] = data
        except ToolError as error:
            host.warn(f"the files of the workspace are not in {_NAME}: {error}")

    def keep(self) -> None:
        """Keeps what the program wrote or changed, and removes what it removed."""
        if not self.is_used:
            return
        after: dict[str, bytes] = {}
        for folder, _, names in _walk(_FOLDER):
            for name in names:
                path = _join(folder, name)
                relative = path[len(_FOLDER) + 1 :]
                if "__pycache__" in relative or len(after) >= _FILES_MAX:
                    continue
                with _open(path, "rb") as file:
                    after[relative] = file.read()
        try:
            for path, data in after.items():
                if self.before.get(path) != data:
                    _ask("write", path, **_content(data)).result()
            for path in self.before.keys() - after.keys():
                _ask("remove", path).result()
        except ToolError as error:
            host.warn(f"not all files of {_NAME} are kept: {error}")


def _rename(tree: ast.Module) -> bool:
    """Has the paths of a program lead to the folder in memory. Gives whether there are any."""
    is_found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (node.value == _NAME or node.value.startswith(f"{_NAME}/")):
            node.value = _FOLDER + node.value[len(_NAME) :]
            is_found = True
    return is_found
