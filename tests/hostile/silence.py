"""A listener on the loopback that must receive no connection."""

import socket
import threading
from typing import Self


class Silence:
    """Counts who connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = str(self._socket.getsockname()[1])
        self.visits = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._control()
        self._socket.close()
        assert self.visits == 1, f"{self.visits - 1} connections were made to a listener that must stay silent"

    def _control(self) -> None:
        """Shows that a visit would have been seen."""
        with socket.create_connection(self._socket.getsockname()) as visit:
            visit.recv(1)

    def _listen(self) -> None:
        while True:
            try:
                visit, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visit.close()
