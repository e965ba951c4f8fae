"""A registry of npm on the loopback, which serves one package from files of `npm pack`."""

import base64
import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def _manifest(archive: Path) -> dict[str, object]:
    with tarfile.open(archive) as packed:
        content = packed.extractfile("package/package.json")
        assert content is not None
        return json.load(content)


@contextmanager
def serving(name: str, archives: list[Path]) -> Iterator[str]:
    """Serves `archives` as the versions of `name`, and gives the registry's address."""
    files = {f"/{archive.name}": archive.read_bytes() for archive in archives}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = f"http://{self.headers['Host']}"
            if self.path == f"/{name}":
                versions = {}
                for archive in archives:
                    manifest = _manifest(archive)
                    digest = base64.b64encode(hashlib.sha512(files[f"/{archive.name}"]).digest()).decode()
                    dist = {"tarball": f"{address}/{archive.name}", "integrity": f"sha512-{digest}"}
                    versions[manifest["version"]] = {**manifest, "dist": dist}
                latest = min(versions, key=len)
                body = json.dumps({"name": name, "versions": versions, "dist-tags": {"latest": latest}}).encode()
            else:
                body = files.get(self.path, b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
