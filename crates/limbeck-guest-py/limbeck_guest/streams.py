"""`sys.stdout`, `sys.stderr` and `sys.stdin` of a program.

What is printed goes to the host line by line, so that it is not lost when a limit ends the program.
"""

import io
import sys
from collections.abc import Iterable

from . import host

# A longer line is sent in parts: the host keeps less of all output than that.
_LINE_CHARS_MAX = 1 << 20


class Printed(io.TextIOBase):
    """A text stream whose lines go to the host."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    line_buffering = True
    write_through = False
    mode = "w"

    def __init__(self, stream: int, name: str) -> None:
        self.name = name
        self._stream = stream
        self._parts: list[str] = []
        self._chars = 0
        # Whether the beginning of the line was sent, so that its end is no line of its own.
        self._is_cut = False
        self.ended_lines = 0
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        end = text.rfind("\n")
        if end < 0:
            self._keep(text)
        else:
            self._parts.append(text[:end])
            self._end_lines()
            self._keep(text[end + 1 :])
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def _keep(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._chars += len(text)
            if self._chars > _LINE_CHARS_MAX:
                self._send(self._taken())
                self._is_cut = True

    def _end_lines(self) -> None:
        """Sends what is kept: the rest of a line, and whole ones after it."""
        text = self._taken()
        if self._is_cut:
            self._is_cut = False
            if not text:
                return
            text = text.removeprefix("\n")
        self._send(text)

    def _taken(self) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        self._chars = 0
        return text

    def _send(self, text: str) -> None:
        self.ended_lines += 1
        start = 0
        while len(text) - start > _LINE_CHARS_MAX:
            end = start + _LINE_CHARS_MAX
            host.log(self._stream, text[start:end])
            # Where a line ends at the bound, its end is no line of its own.
            start = end + (text[end] == "\n")
        host.log(self._stream, text[start:])

    def printed_anything(self) -> bool:
        """Whether a program wrote something other than nothing."""
        return self.ended_lines > 0 or bool(self._parts)

    def finish(self) -> None:
        """Sends a last line that has no end."""
        if self._parts:
            self._end_lines()

    def flush(self) -> None:
        """Whole lines have been sent; the beginning of one waits for its end."""

    def close(self) -> None:
        """Does nothing: the stream stays open for the report of the program's end."""

    def detach(self) -> "_Bytes":
        return self.buffer

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    def isatty(self) -> bool:
        return False

    def reconfigure(self, **options: object) -> None:
        """Takes what `io.TextIOWrapper.reconfigure` takes; the host's encoding stays UTF-8."""


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`: bytes of UTF-8."""

    def __init__(self, text: Printed) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        written = bytes(data)  # type: ignore[call-overload]
        self._text.write(written.decode("utf-8", "backslashreplace"))
        return len(written)

    def close(self) -> None:
        pass


class NoInput(io.TextIOBase):
    """`sys.stdin`: empty."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    mode = "r"

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return ""

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return ""

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


def install() -> tuple[Printed, Printed]:
    """Makes the streams and puts them into `sys`; gives standard output and standard error."""
    out, err = Printed(host.STDOUT, "<stdout>"), Printed(host.STDERR, "<stderr>")
    sys.stdout = sys.__stdout__ = out  # type: ignore[misc, assignment]
    sys.stderr = sys.__stderr__ = err  # type: ignore[misc, assignment]
    sys.stdin = sys.__stdin__ = NoInput()  # type: ignore[misc, assignment]
    return out, err
