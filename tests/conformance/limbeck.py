"""The built `limbeck` as the suite uses it: over HTTP with its token, or on standard input and output."""

import json
import re
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import suite

TOKEN = "conformance-" + "0" * 32
# A head of a request; the suite's have a few hundred bytes.
HEAD_BYTES_MAX = 64 << 10


def serve(directory: Path, entry: dict[str, Any], *options: str) -> list[str]:
    """The command line of a gateway before one server, which keeps everything in `directory`."""
    config = directory / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"peer": entry}}))
    return [suite.limbeck(), "serve", *only(directory, config), *options]


def only(directory: Path, config: Path) -> list[str]:
    """Options of every command: this configuration, this state, and nothing else."""
    return ["--config", str(config), "--no-discover", "--state-dir", str(directory / "state")]


@contextmanager
def serving(directory: Path, entry: dict[str, Any]) -> Iterator[str]:
    """Runs `limbeck serve --http`, and gives an address where its token is added to every request."""
    tokens = directory / "token"
    tokens.write_text(TOKEN)
    tokens.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        name = f"127.0.0.1:{listener.getsockname()[1]}"
        command = serve(
            directory,
            entry,
            *("--http", "127.0.0.1:0", "--token-file", str(tokens)),
            *("--allow-host", name, "--allow-origin", f"http://{name}"),
        )
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            with adding_the_token(listener, port_of(process)):
                yield f"http://{name}/mcp"
        finally:
            process.terminate()
            process.wait(30)


def port_of(process: subprocess.Popen[str]) -> int:
    """The port in the output of a gateway; the rest of the output is read to its end."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"serving MCP at http://127\.0\.0\.1:(\d+)/mcp", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return int(found[1])
    raise AssertionError(f"limbeck ended: {''.join(lines)}")


@contextmanager
def adding_the_token(listener: socket.socket, port: int) -> Iterator[None]:
    """Passes every request on to `port` with the token, which the suite has no way to send.

    Nothing else is changed but that each connection carries one request, so `Host`, `Origin` and everything
    a scenario gets wrong on purpose are judged by the gateway.
    """

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head, _, rest = receive_head(self.request).partition(b"\r\n\r\n")
            if not head:
                return
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            lines += [b"Connection: close", b"Authorization: Bearer " + TOKEN.encode()]
            with socket.create_connection(("127.0.0.1", port)) as gateway:
                gateway.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + rest)
                back = threading.Thread(target=pump, args=(gateway, self.request))
                back.start()
                # A client that goes away ends the request it made.
                pump(self.request, gateway)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def server_bind(self) -> None:
            self.socket.close()
            self.socket = listener.dup()
            self.server_address = listener.getsockname()

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Either side may end a connection whenever it likes."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def receive_head(connection: socket.socket) -> bytes:
    """What comes up to the end of the head of a request, and perhaps some of its body."""
    received = b""
    while b"\r\n\r\n" not in received and len(received) < HEAD_BYTES_MAX:
        if not (more := connection.recv(HEAD_BYTES_MAX)):
            return b""
        received += more
    return received


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Forwards bytes until one side closes, then closes the other."""
    try:
        while received := source.recv(64 << 10):
            sink.sendall(received)
        sink.shutdown(socket.SHUT_RDWR)
    except OSError:
        # Either side may have closed first.
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
