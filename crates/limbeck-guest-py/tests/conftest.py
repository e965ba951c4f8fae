"""Runs programs in the prelude, each in a process of its own, against the gateway of `gateway`.

The interpreter is the one that runs the tests; the guest's is newer, so what is tested here is what both
agree upon. With `LIMBECK_GUEST=path/to/guest.wasm` and the package `wasmtime` installed the programs run
in the component itself; then time is the machine's, and tests of virtual time are skipped.
"""

import json
import os
import pickle
import signal
import sys
import threading
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RUN_SECONDS_MAX = 20
# All that the package `wasmtime` allows; the worker gives a guest more.
WASM_STACK_BYTES = 3 << 19
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from gateway import Gateway  # noqa: E402

# The prelude refuses both once it is installed.
_fork, _waitpid, _pipe = os.fork, os.waitpid, os.pipe
_clock = types.SimpleNamespace(gateway=None)


@dataclass
class Ended:
    """How a run ended."""

    kind: int
    text: str
    stdout: str
    stderr: str
    gateway: Gateway
    took_ms: float

    @property
    def value(self) -> Any:
        assert self.kind == 0, f"{self.kind}: {self.text}\n{self.stderr}"
        return json.loads(self.text) if self.text else None

    @property
    def error(self) -> dict[str, Any]:
        assert self.kind in (1, 3, 4), f"{self.kind}: {self.text}"
        return json.loads(self.text)


def _forget_the_tests() -> None:
    """What a test run leaves behind in the standard library."""
    import logging
    import warnings

    logging.getLogger().handlers.clear()
    warnings.showwarning = warnings._showwarning_orig  # type: ignore[attr-defined]
    sys.path[:] = [path for path in sys.path if Path(path) not in (HERE, HERE.parent)]


def _install_virtual_time() -> None:
    """Makes the clocks of a run the gateway's. The tests themselves keep the machine's."""
    machine_ns = time.time_ns

    def now_us() -> int:
        return _clock.gateway.now_us if _clock.gateway else machine_ns() // 1000

    time.time_ns = lambda: now_us() * 1000  # type: ignore[assignment]
    time.time = lambda: now_us() / 1e6  # type: ignore[assignment]
    time.monotonic = time.perf_counter = time.time  # type: ignore[assignment]


def _host() -> types.ModuleType:
    world = types.ModuleType("wit_world")
    world.call = lambda *args: _clock.gateway.call(*args)  # type: ignore[attr-defined]
    world.log = lambda *args: _clock.gateway.log(*args)  # type: ignore[attr-defined]
    world.wait = lambda *args: _clock.gateway.wait(*args)  # type: ignore[attr-defined]
    return world


def _start(input_value: Any, gateway: Gateway) -> dict[str, Any]:
    cut = {name: {"incomplete": how} for name, how in gateway.incomplete.items()}
    servers = [{"name": name, "tools": len(tools)} | cut.get(name, {}) for name, tools in gateway.servers.items()]
    start = {"input": input_value, "servers": servers, "limits": {"wall_ms": gateway.wall_ms, "calls": 10_000}}
    return start | ({"mode": gateway.mode} if gateway.mode else {})


class Native:
    """The prelude in this interpreter."""

    def __init__(self) -> None:
        sys.modules["wit_world"] = _host()
        _install_virtual_time()
        from limbeck_guest import main

        self._run = main.run

    def run(self, program: str, input_value: Any, gateway: Gateway) -> tuple[Any, Gateway]:
        readable, writable = _pipe()
        child = _fork()
        if child == 0:
            os.close(readable)
            # By the signal's default the child dies.
            signal.alarm(RUN_SECONDS_MAX)
            _forget_the_tests()
            _clock.gateway = gateway
            dumps = pickle.dumps
            ended = self._run(program, json.dumps(_start(input_value, gateway)))
            gateway.servers = {}
            with os.fdopen(writable, "wb") as pipe:
                pipe.write(dumps((ended, gateway)))
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable, "rb") as pipe:
            data = pipe.read()
        _waitpid(child, 0)
        assert data, "the run ended without a result"
        return pickle.loads(data)


class Component:
    """The component that the worker would run."""

    def __init__(self, path: str) -> None:
        import wasmtime
        from wasmtime import component

        self._wasmtime, self._component_api = wasmtime, component
        config = wasmtime.Config()
        config.max_wasm_stack = WASM_STACK_BYTES
        self._engine = wasmtime.Engine(config)
        compiled = Path(path).with_suffix(".cwasm")
        if not compiled.exists() or compiled.stat().st_mtime < Path(path).stat().st_mtime:
            compiled.write_bytes(component.Component.from_file(self._engine, path).serialize())
        self._component = component.Component.deserialize_file(self._engine, str(compiled))

    def run(self, program: str, input_value: Any, gateway: Gateway) -> tuple[Any, Gateway]:
        """Runs in a thread: the stack of the first is smaller than the guest's."""
        from concurrent.futures import Future

        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(self._run(program, input_value, gateway))
            except BaseException as error:
                future.set_exception(error)

        threading.stack_size(8 * WASM_STACK_BYTES)
        threading.Thread(target=work, daemon=True).start()
        return future.result(RUN_SECONDS_MAX)

    def _run(self, program: str, input_value: Any, gateway: Gateway) -> tuple[Any, Gateway]:
        import tempfile

        store = self._wasmtime.Store(self._engine)
        wasi = self._wasmtime.WasiConfig()
        with tempfile.TemporaryDirectory() as root:
            for name in ("tmp", "workspace"):
                os.mkdir(f"{root}/{name}")
                wasi.preopen_dir(f"{root}/{name}", f"/{name}")
            store.set_wasi(wasi)
            linker = self._component_api.Linker(self._engine)
            linker.add_wasip2()
            gateway.now_us = time.time_ns() // 1000
            with linker.root() as world:
                world.add_func("call", lambda _, *args: gateway.call(*args))
                world.add_func("log", lambda _, *args: gateway.log(*args))
                world.add_func("wait", lambda _, wake: _in_real_time(gateway, wake))
            instance = linker.instantiate(store, self._component)
            run = instance.get_func(store, "run")
            return run(store, program, json.dumps(_start(input_value, gateway))), gateway


def _in_real_time(gateway: Gateway, wake_at_us: int) -> Any:
    gateway.now_us = time.time_ns() // 1000
    answers = gateway.wait(wake_at_us)
    time.sleep(max(0, gateway.now_us / 1e6 - time.time()))
    return answers


GUEST = os.environ.get("LIMBECK_GUEST")
in_virtual_time = pytest.mark.skipif(GUEST is not None, reason="the component's clock is the machine's")


@pytest.fixture(scope="session")
def engine() -> Any:
    return Component(GUEST) if GUEST else Native()


@pytest.fixture
def run(engine: Any) -> Any:
    """`run(program, input=None, gateway=None)`: how the program ended."""

    def run_program(program: str, input: Any = None, gateway: Gateway | None = None) -> Ended:
        gateway = gateway or Gateway()
        started_us = gateway.now_us
        (kind, text), after = engine.run(program, input, gateway)
        out, err = ("".join(f"{line}\n" for line in lines) for lines in after.lines[:2])
        return Ended(kind, text, out, err, after, (after.now_us - started_us) / 1000)

    return run_program
