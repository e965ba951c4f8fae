"""Does not end: ignores every polite signal and the end of its input, and leaves a grandchild in a session of its own that
holds standard output and standard error open."""

import os
import signal
import time

from base import MAX_SECONDS, Server

DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)


class Immortal(Server):
    """Sleeps when it should go."""

    def start(self) -> None:
        for deaf_to in DEAF_TO:
            signal.signal(deaf_to, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            time.sleep(MAX_SECONDS)
            os._exit(0)

    def end(self) -> None:
        time.sleep(MAX_SECONDS)


Immortal().run()
