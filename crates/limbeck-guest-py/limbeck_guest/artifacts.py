"""`artifacts`: what was kept whole of an earlier answer or of a tool's result, and what programs keep themselves;
`emit`: a block for the client beside what the program returns.

Each call may be awaited or not, as calls of tools may. An artifact is iterated with `for` and `async for`.
"""

import re
from base64 import b64decode
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

from . import calls, host, jsontext, tools, values
from .catalog import require_text
from .errors import ToolError
from .lazy import Call, is_call, resolved

_print = jsontext.printer(None)
_IS_ID = re.compile(r"art_[0-9a-f]{32}\Z").match
_HINT = "ids look like `art_` and 32 digits; `artifacts.list()` lists the artifacts"


def _id_of(target: Any, label: str) -> str:
    """The id in a text, or in a handle such as a tool's result has for an image."""
    if is_call(target):
        target = resolved(target)
    if isinstance(target, Artifact):
        return target.id
    if isinstance(target, dict):
        target = target.get("artifact", target.get("id"))
    if isinstance(target, str) and _IS_ID(target):
        return str(target)
    got = repr(target[:60]) if isinstance(target, str) else f"a {type(target).__name__}"
    raise ToolError(f"{label} takes an artifact's id; got {got}", {"code": "invalid_arguments", "hint": _HINT})


def _start(body: str, label: str, convert: calls.Convert | None = None) -> calls.Pending:
    return calls.start(host.ARTIFACT, "", body, label, convert)


class Artifact:
    """What can be read of an artifact. Nothing is read before it is asked for."""

    __slots__ = ("id",)

    id: str

    def __init__(self, id: str) -> None:
        self.id = id

    def _read(self, action: str, convert: calls.Convert | None = None, **more: Any) -> Any:
        body = _print({"do": action, "id": self.id, **more})
        return tools.answer(_start(body, f"artifact.{action}", convert))

    def info(self) -> Any:
        """`{"id", "mimeType", "bytes", "created", "expires", "shape", "items"}`."""
        return self._read("info")

    def json(self) -> Any:
        """The whole value."""
        return self._read("json")

    def text(self) -> Any:
        """The whole text."""
        return self._read("text")

    def base64(self) -> Any:
        """The content as Base64."""
        return self._read("base64")

    def bytes(self) -> Any:
        """The content."""
        return self._read("base64", b64decode)

    def select(self, path: str) -> Any:
        """The list of what a JSON path (RFC 9535) selects, such as `$.items[*].name`."""
        return self._read("select", path=require_text(path, "artifact.select"))

    def _page(self, start: int) -> calls.Pending:
        return _start(_print({"do": "items", "id": self.id, "from": start}), "artifact.items")

    def __iter__(self) -> Iterator[Any]:
        start: int | None = 0
        while start is not None:
            page = self._page(start).result()
            yield from page["items"]
            start = page.get("next")

    async def __aiter__(self) -> AsyncIterator[Any]:
        start: int | None = 0
        while start is not None:
            page = await Call(self._page(start))
            for item in page["items"]:
                yield item
            start = page.get("next")

    def __await__(self) -> Generator[Any, None, "Artifact"]:
        """`await artifacts.open(id)`: there is nothing to wait for."""
        return self
        yield

    def __repr__(self) -> str:
        return f"[artifact {self.id}]"


class Artifacts:
    """`artifacts.open(id)`, `artifacts.list()` and `artifacts.save(value, name)`."""

    __slots__ = ()

    def open(self, id: Any) -> Artifact:
        """One of them, to be read in parts."""
        return Artifact(_id_of(id, "artifacts.open"))

    def list(self) -> Any:
        """Those that are kept, newest first: `[{"id", "mimeType", "bytes", "expires"}]`."""
        return tools.answer(_start('{"do":"list"}', "artifacts.list"))

    def save(self, value: Any, name: str | None = None) -> Any:
        """Keeps a value or a text for later programs; gives what `list` gives of it."""
        body = f'{{"do":"save","value":{_encoded(value, "artifacts.save")}'
        if name is not None:
            body += f',"name":{_print(require_text(name, "artifacts.save"))}'
        return tools.answer(_start(body + "}", "artifacts.save"))

    def __repr__(self) -> str:
        return "[artifacts]"


def _encoded(value: Any, label: str) -> str:
    if is_call(value):
        value = resolved(value)
    try:
        return values.encode_arguments(value, "value")
    except values.NoJson as error:
        raise TypeError(f"{label}: {error}") from None


def emit(block: Any) -> Any:
    """Gives the client a text, a content block (`{"type": "image", ...}`) or an artifact beside the result."""
    if is_call(block):
        block = resolved(block)
    if block is None:
        raise TypeError("emit takes a text, a content block or an artifact")
    if isinstance(block, Artifact):
        block = {"artifact": block.id}
    body = f'{{"block":{_encoded(block, "emit")}}}'
    return tools.answer(calls.start(host.EMIT, "", body, "emit"))
