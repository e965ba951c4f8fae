"""`ToolError`, and its relatives for programs written for the two earlier systems."""

from typing import Any

_FIELDS = ("code", "server", "tool", "hint", "retryable")


class ToolError(RuntimeError):
    """Why a call of a tool, or of anything else the gateway answers, failed.

    `code` is stable: `unknown_tool`, `invalid_arguments`, `denied`, `tool_failed` and so on. Fields
    that do not apply are None; `retryable` is False.
    """

    code: str | None = None
    server: str | None = None
    tool: str | None = None
    hint: str | None = None
    retryable: bool = False

    def __init__(self, message: str = "", details: dict[str, Any] | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        known = {**(details or {}), **fields}
        for name in _FIELDS:
            if known.get(name) is not None:
                setattr(self, name, known[name])


class MCPError(ToolError):
    """A call through `mcp.runtime`, `mcp_<server>` or `mcp.servers` failed."""


class FullNameError(ToolError):
    """A call by `call_mcp_tool` failed; its text begins as that function's always did."""


for _class in (ToolError, MCPError, FullNameError):
    # What a traceback says before the name.
    _class.__module__ = "builtins"
FullNameError.__name__ = FullNameError.__qualname__ = "ToolError"


def tool_error(details: dict[str, Any]) -> ToolError:
    """The error for a `CallError` of the gateway."""
    return ToolError(_message(details), details)


def mcp_error(details: dict[str, Any]) -> ToolError:
    """The same for the functions of `mcp.runtime`."""
    return MCPError(_message(details), details)


def full_name_error(details: dict[str, Any]) -> ToolError:
    """The same for `call_mcp_tool`."""
    code = details.get("code") or "error"
    return FullNameError(f"MCP Error [{code}]: {_message(details)}", details)


def _message(details: dict[str, Any]) -> str:
    message = details.get("message")
    return message if isinstance(message, str) else "the call failed"
