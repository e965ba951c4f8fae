"""What every server's stubs are made of."""

from collections.abc import AsyncIterator, Awaitable, Generator, Iterator, Mapping
from typing import Any, Generic, TypeVar

from typing_extensions import Self

T = TypeVar("T", covariant=True)

class Record(dict[str, Any]):
    """A JSON object: a dictionary whose keys are attributes too, but for those that name a method."""

    def __getattr__(self, name: str, /) -> Any: ...

class Result(Record):
    """The result of a call: the record itself, which may be awaited as well."""

    def __await__(self) -> Generator[Any, Any, Self]: ...

class CallToolResult(Result):
    """A result as its server sent it."""

    content: list[Any]
    structuredContent: Any
    isError: bool

class Call(Awaitable[T], Generic[T]):
    """A call whose result is no object: awaited it is that value, and used as the value it is typed
    loosely."""

    def __await__(self) -> Generator[Any, Any, T]: ...
    def __getattr__(self, name: str, /) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __contains__(self, item: Any, /) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class Tool:
    """A tool. It is called with named arguments, or with one dictionary of them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def raw(self, arguments: Mapping[str, Any] = ..., /, **named: Any) -> CallToolResult:
        """The whole result, `isError` included."""

class Server:
    """A server. Its tools are attributes, or items where a name is no identifier."""

    def __getitem__(self, name: str, /) -> Tool: ...

class ToolError(RuntimeError):
    """Why a call failed."""

    code: str
    server: str | None
    tool: str | None
    message: str
    hint: str | None
    retryable: bool

class Resources:
    def list(self) -> Any: ...
    def templates(self) -> Any: ...
    def read(self, uri: str) -> Any: ...

class Prompts:
    def list(self) -> Any: ...
    def get(self, name: str, arguments: Any = ..., /, **named: Any) -> Any: ...

class Offers:
    resources: Resources
    prompts: Prompts

class Servers:
    def __call__(self) -> Any: ...
    def __getattr__(self, server: str) -> Offers: ...
    def __getitem__(self, server: str) -> Offers: ...

class Store:
    """Values kept between executions."""

    def get(self, key: str, default: Any = ...) -> Any: ...
    def set(self, key: str, value: Any) -> Any: ...

class Artifact:
    """Content that was kept. It is read when it is asked for; iterated it gives its items or lines."""

    id: str

    def info(self) -> Any: ...
    def json(self) -> Any: ...
    def text(self) -> Any: ...
    def base64(self) -> Any: ...
    def bytes(self) -> Any: ...
    def select(self, path: str) -> Any:
        """What a JSON path (RFC 9535) selects."""

    def __iter__(self) -> Iterator[Any]: ...
    def __aiter__(self) -> AsyncIterator[Any]: ...

class Artifacts:
    """What was kept whole of an answer or of a tool's result, and what programs keep."""

    def open(self, id: Any) -> Artifact: ...
    def list(self) -> Any: ...
    def save(self, value: Any, name: str | None = ...) -> Any: ...
