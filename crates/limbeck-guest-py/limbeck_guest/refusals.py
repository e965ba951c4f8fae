"""Errors for functions that cannot work here, with the reason and an alternative.

Every function below would fail anyway, with an error of the operating system that gives neither, or would wait
for a thread that cannot exist. Where one thread can do the work of many, as in an executor, it does.
"""

import _thread
import asyncio
import concurrent.futures.thread
import http.client
import io
import os
import queue
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NoReturn

from . import calls, report
from .folders import is_outside
from .lazy import is_call, resolved

_NO_NETWORK = "there is no network here; call a tool of a server instead, found with `search(\"...\")`"
_NO_PROCESS = "there are no processes here; do it in Python, or call a tool of a server that runs commands"
_NO_THREADS = (
    "there are no threads here; `await asyncio.gather(...)` makes calls of tools at the same time, and "
    "`threading.Thread` and `concurrent.futures.ThreadPoolExecutor` run functions one after another"
)
_NEVER = "this waits for another thread, and there are no threads here; nothing can end the wait"
_NO_FILE = "files are only in /tmp and /workspace, in memory; a tool of a server may read others"
_NO_INPUT = "a program cannot ask the user; its arguments are in `input`"

_PROCESS_FUNCTIONS = (
    "system popen fork forkpty execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe "
    "spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp kill killpg wait waitpid"
).split()
_LOOP_FUNCTIONS = {
    "subprocess_exec": _NO_PROCESS, "subprocess_shell": _NO_PROCESS, "create_connection": _NO_NETWORK,
    "create_server": _NO_NETWORK, "create_datagram_endpoint": _NO_NETWORK, "create_unix_connection": _NO_NETWORK,
    "create_unix_server": _NO_NETWORK, "getaddrinfo": _NO_NETWORK, "getnameinfo": _NO_NETWORK,
    "sock_connect": _NO_NETWORK, "connect_accepted_socket": _NO_NETWORK,
}  # fmt: skip

_io_open = io.open


def _refusal(sentence: str, name: str, kind: type[Exception] = OSError) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise kind(f"{name}: {sentence}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse


# --- locks and threads ---


class Lock:
    """`threading.Lock` for one thread: a lock that is held cannot be released while another acquire waits."""

    def __init__(self) -> None:
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self._held:
            self._held = True
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0:
            raise RuntimeError(_NEVER)
        calls.sleep(timeout)
        return False

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._held = False

    acquire_lock, release_lock, locked_lock = acquire, release, locked


class Executor(concurrent.futures.Executor):
    """An executor that runs each function when it is submitted. Calls of tools overlap all the same."""

    def __init__(self, max_workers: int | None = None, *args: object, **kwargs: object) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._shut = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = _Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shut = True


class _Future(concurrent.futures.Future[Any]):
    """A future whose result may still be a call: reading the result waits for the answer."""

    def result(self, timeout: float | None = None) -> Any:
        result = super().result(timeout)
        return resolved(result) if is_call(result) else result


def _start(thread: Any) -> None:
    """`threading.Thread.start`: runs the thread to its end at once."""
    if thread._started.is_set():
        raise RuntimeError("threads can only be started once")
    thread._started.set()
    thread._ident = threading.get_ident()
    caller = threading._active.get(thread._ident)  # type: ignore[attr-defined]
    threading._active[thread._ident] = thread  # type: ignore[attr-defined]
    _running.append(thread)
    try:
        thread.run()
    except SystemExit:
        pass
    except Exception as error:
        _report(thread, error)
    finally:
        _running.remove(thread)
        threading._active[thread._ident] = caller  # type: ignore[attr-defined]


_running: list[Any] = []
_excepthook = threading.excepthook


def _report(thread: Any, error: Exception) -> None:
    """Reports an error that ended a thread. The program goes on, as it does elsewhere."""
    if threading.excepthook is not _excepthook:
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
        return
    sys.stderr.write(f"Exception in thread {thread.name}:\n")
    report.print_traceback(error, sys.stderr)


def _join(thread: Any, timeout: float | None = None) -> None:
    if not thread._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if thread in _running:
        raise RuntimeError("cannot join current thread")


def _is_alive(thread: Any) -> bool:
    return thread in _running


def _replace_threads() -> None:
    for method, replacement in (("start", _start), ("join", _join), ("is_alive", _is_alive)):
        replacement.__name__ = method
        setattr(threading.Thread, method, replacement)
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        setattr(_thread, name, _refusal(_NO_THREADS, f"_thread.{name}", RuntimeError))
    threading.Lock = threading._allocate_lock = Lock
    _thread.allocate_lock = _thread.allocate = Lock
    # The implementation in C blocks without calling the lock above, so it would wait forever.
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[misc, attr-defined]
    for name in ("ThreadPoolExecutor", "ProcessPoolExecutor", "InterpreterPoolExecutor"):
        setattr(concurrent.futures, name, Executor)
    concurrent.futures.thread.ThreadPoolExecutor = Executor  # type: ignore[misc, assignment]


# --- processes, network ---


def _refuse_processes() -> None:
    subprocess.Popen.__init__ = _refusal(_NO_PROCESS, "subprocess.Popen")  # type: ignore[method-assign]
    for name in _PROCESS_FUNCTIONS:
        setattr(os, name, _refusal(_NO_PROCESS, f"os.{name}"))


def _refuse_network() -> None:
    socket.socket.__init__ = _refusal(_NO_NETWORK, "socket.socket")  # type: ignore[method-assign]
    for name in ("create_connection", "create_server", "socketpair", "getaddrinfo", "gethostbyname", "gethostbyaddr"):
        setattr(socket, name, _refusal(_NO_NETWORK, f"socket.{name}"))
    http.client.HTTPConnection.connect = _refusal(_NO_NETWORK, "http.client.connect")  # type: ignore[method-assign]
    urllib.request.OpenerDirector.open = _urlopen  # type: ignore[method-assign]
    for name, sentence in _LOOP_FUNCTIONS.items():
        setattr(asyncio.base_events.BaseEventLoop, name, _refusal(sentence, f"loop.{name}"))


def _urlopen(self: object, fullurl: Any, *args: object, **kwargs: object) -> NoReturn:
    raise urllib.error.URLError(_NO_NETWORK)


# --- names of `builtins` ---


def _open(file: Any, *args: Any, **kwargs: Any) -> Any:
    """`open`, whose error for a path outside of the folders names the folders."""
    try:
        return _io_open(file, *args, **kwargs)
    except OSError as error:
        if error.filename is not None and is_outside(error.filename):
            error.strerror = f"{error.strerror}: {_NO_FILE}"
        raise


_open.__name__ = _open.__qualname__ = "open"


def _input(prompt: object = "") -> NoReturn:
    raise EOFError(_NO_INPUT)


def _breakpoint(*args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError("there is no debugger here; print what you want to see")


def _exit(code: object = None) -> NoReturn:
    raise SystemExit(code)


# Builtins that replace those of the interpreter.
BUILTINS: dict[str, Any] = {
    "open": _open, "input": _input, "breakpoint": _breakpoint, "exit": _exit, "quit": _exit,
}  # fmt: skip


def install() -> None:
    """Replaces what cannot work. To be called once, when the component is built."""
    _replace_threads()
    _refuse_processes()
    _refuse_network()
    io.open = _open
