def search(
    query: str, server: str | None = ..., limit: int | None = ..., detail: str | None = ...
) -> Any:
    """Tools that match, best first."""

def describe(target: Any, tool: str | None = ...) -> Any:
    """A server with its tools, or one tool."""

servers: Servers
"""`servers()` lists every server with its state; `servers.name` is what one offers besides tools."""

def call_tool(name: str, /, args: Any = ..., *more: Any, **named: Any) -> Any:
    """A call by full name, `mcp__server__tool` or `server.tool`, or by the names of server and tool."""

async def acall_tool(name: str, /, args: Any = ..., *more: Any, **named: Any) -> Any:
    """The same, to be awaited."""

store: Store
artifacts: Artifacts

def emit(block: Any) -> Any:
    """Gives the client a text, a content block or an artifact beside the result."""

input: Any
"""What the program was given."""
