"""The event loop: asyncio's own, with the host's `wait` in the place where others select on sockets.

Time moves only in `wait`, so a program that is woken for a timer has used no processor time. When
nothing can ever come, no call and no timer, the loop raises `NeverSettles` instead of waiting.

A program that has returned may have tasks that still run: `drain` runs them to their end, where CPython's
`asyncio.run` cancels them in the middle of their work.
"""

import asyncio
import contextvars
import sys
import time
import weakref
from asyncio import base_events, events, tasks
from collections.abc import Awaitable, Callable
from itertools import count
from types import ModuleType
from typing import Any

from . import calls, host, reach, report, source
from .lazy import is_call

# A loop that is never idle, such as `while not done: await asyncio.sleep(0)`, gets answers and time
# once in so many turns, and then waits this long for them.
_TURNS_UNHEARD_MAX = 64
_UNIDLE_WAIT_S = 0.001
# What tasks get in all, after the program has returned, while none of them awaits a call: seconds of sleep, and turns
# of the loop. `while True: await asyncio.sleep(1)` must not keep a program until its time-out.
_IDLE_S_MAX = 1.0
_IDLE_TURNS_MAX = 10_000
# Futures that are looked through for the calls that one task awaits.
_AWAITED_MAX = 1_000
# Of the text of one error in a warning.
_WARNED_BYTES_MAX = 300


class NeverSettles(RuntimeError):
    """The program waits for what cannot happen any more."""

    limbeck_position: tuple[int | None, int | None] | None = None
    hint = (
        "every call was answered and no timer is set; look for a future, event, queue or lock that is never resolved"
    )


NeverSettles.__module__ = "builtins"


class _Selector:
    """What the loop asks for events. The only events are answers, which go to the calls themselves."""

    def __init__(self, loop: "Loop") -> None:
        self._loop = loop
        self._turns = 0
        # Whether the program has returned, and whether tasks were left because they only slept.
        self.draining = False
        self.left_idle = False
        # Tasks that were cancelled in a plain function that waited when draining ended.
        self.left_inside: list[asyncio.Task[Any]] = []
        # Whether draining ended because its time was over.
        self.was_cut = False
        # Whether draining has ended, so that code which turns the loop itself must not wait on.
        self.ended = False

    def select(self, timeout: float | None) -> tuple[()]:
        if self.draining:
            left = calls.tail_left_s()
            if left <= 0 or not calls.any_awaited(self._loop) and not self._may_idle(timeout):
                self.was_cut = left <= 0
                self.ended = True
                self._loop.stop()
                return ()
            timeout = left if timeout is None else min(timeout, left)
        if timeout is None:
            if not calls.any_pending():
                raise NeverSettles("the program waits for something that nothing will settle")
            self._wait(host.NO_TIMER)
        elif timeout > 0:
            self._wait(calls.wake_after(timeout))
        else:
            self._turns += 1
            if self._turns >= _TURNS_UNHEARD_MAX:
                self._wait(calls.wake_after(_UNIDLE_WAIT_S))
        return ()

    def _may_idle(self, timeout: float | None) -> bool:
        """Whether tasks that await no call get more time; they pay for it here. Without a timer or a ready task
        none of them can go on."""
        if timeout is None:
            return False
        if timeout > _idle.seconds or _idle.turns == 0:
            self.left_idle = True
            return False
        if timeout > 0:
            _idle.seconds -= timeout
        else:
            _idle.turns -= 1
        return True

    def _wait(self, wake_at_us: int) -> None:
        self._turns = 0
        calls.deliver(host.wait(wake_at_us))

    def close(self) -> None:
        pass

    def get_map(self) -> dict[Any, Any]:
        return {}


class _Idle:
    """What is left of the time for tasks that await no call, after the program has returned."""

    seconds = _IDLE_S_MAX
    turns = _IDLE_TURNS_MAX


_idle = _Idle()
_numbers = count()
# Loops that are not closed, in the order in which they were made.
_open: list["Loop"] = []
# Tasks of the program in that order, so that a replay reports their errors in the same order.
_tasks: weakref.WeakValueDictionary[int, asyncio.Task[Any]] = weakref.WeakValueDictionary()
# Futures for which the program stopped waiting on purpose: they are no mistake to warn of.
_given_up: weakref.WeakSet[asyncio.Future[Any]] = weakref.WeakSet()


class Loop(base_events.BaseEventLoop):
    """An asyncio loop. Everything that is not a socket, a process or a thread works as everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Selector(self)
        # One tick of the host's clock, so that a timer the host woke us for is due.
        self._clock_resolution = 1e-6
        _open.append(self)

    def close(self) -> None:
        super().close()
        if self in _open:
            _open.remove(self)

    def _process_events(self, event_list: object) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Also of a call, as `asyncio.create_task(tools.server.tool())` has it."""
        task = super().create_task(awaiting(coro) if not asyncio.iscoroutine(coro) else coro, **options)
        # asyncio makes a task to close an async generator that the program left; that is no task of the program.
        if type(coro).__name__ != "async_generator_athrow":
            _tasks[next(_numbers)] = task
        return task

    def run_until_complete(self, future: Any) -> Any:
        """Also inside a running loop, where others refuse."""
        running = events._get_running_loop()
        if running is None:
            future = tasks.ensure_future(future, loop=self)
            try:
                return super().run_until_complete(future)
            except NeverSettles as error:
                if isinstance(future, asyncio.Task):
                    error.limbeck_position = report.waiting_position(future.get_coro())
                raise
        if running is not self:
            return _aside(running, lambda: self.run_until_complete(future))
        return self._run_inside(future)

    def _run_inside(self, future: Any) -> Any:
        """Turns this loop, which is running, until the future is done.

        When draining ends before, the code that waits here is cancelled: the loop is stopping, and time moves no more.
        """
        future = tasks.ensure_future(future, loop=self)
        task = tasks.current_task(self)
        if task is not None:
            tasks._leave_task(self, task)
        try:
            while not future.done():
                self._run_once()
                if self._selector.ended and not future.done():
                    if task is not None:
                        self._selector.left_inside.append(task)
                    raise asyncio.CancelledError
        finally:
            if task is not None:
                tasks._enter_task(self, task)
        return future.result()

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Runs the function at once, there being no threads; a call it makes goes on by itself."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            result = func(*args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            if isinstance(error, StopIteration):
                error = RuntimeError("the function raised StopIteration")
            future.set_exception(error)
            return future
        if is_call(result):
            return tasks.ensure_future(result, loop=self)
        future.set_result(result)
        return future

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Reports an error of a task or callback that was not awaited, with the program's own lines."""
        error = context.get("exception")
        sys.stderr.write(f"{context.get('message') or 'error in the event loop'}\n")
        if isinstance(error, BaseException):
            line, _ = report.position(error)
            where = f" (line {line})" if line is not None else ""
            text = report.cut(report.message_of(error), _WARNED_BYTES_MAX)
            what = "no code awaited a task that failed" if "task" in context or "future" in context else "a callback failed"
            host.warn(f"{what}{where}: {report.name_of(error)}: {text}")
            report.print_traceback(error, sys.stderr)

    def set_default_executor(self, executor: object) -> None:
        pass

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        pass

    def add_signal_handler(  # type: ignore[override]
        self, sig: int, callback: Callable[..., Any], *args: Any
    ) -> None:
        """There are no signals, so the handler is never called."""

    def remove_signal_handler(self, sig: int) -> bool:
        return False


async def awaiting(awaitable: Awaitable[Any]) -> Any:
    """A coroutine that awaits anything: what takes coroutines only takes it."""
    return await awaitable


class Policy:
    """Gives programs the loops of this module. `get_event_loop` gives the program's own outside of a running loop."""

    def __init__(self) -> None:
        self._loop: Loop | None = None
        self._home: Loop | None = None

    def get_event_loop(self) -> Loop:
        return self._loop if self._loop is not None and not self._loop.is_closed() else self.home()

    def home(self) -> Loop:
        """The loop of what the program awaits at top level."""
        if self._home is None or self._home.is_closed():
            self._home = Loop()
        return self._home

    def set_event_loop(self, loop: Loop | None) -> None:
        self._loop = loop

    def new_event_loop(self) -> Loop:
        return Loop()


_policy = Policy()
home = _policy.home


def run(main: Any, *, debug: bool | None = None, loop_factory: Callable[[], Any] | None = None) -> Any:
    """`asyncio.run`, also inside a running loop: then the inner program has a loop of its own."""
    if not asyncio.iscoroutine(main) and not hasattr(type(main), "__await__"):
        raise ValueError(f"a coroutine was expected, got {main!r}")
    running = events._get_running_loop()
    if running is not None:
        return _aside(running, lambda: run(main, debug=debug, loop_factory=loop_factory))
    loop = loop_factory() if loop_factory is not None else Loop()
    events.set_event_loop(loop)
    try:
        value = loop.run_until_complete(main)
        drain(loop)
        return value
    finally:
        events.set_event_loop(None)
        finish(loop)


def drain_all() -> None:
    """Drains every loop of a program that has returned."""
    for loop in list(_open):
        drain(loop)


def drain(loop: Any) -> None:
    """Runs a loop until no task of it awaits a call or can go on by itself, or the time for that has ended.

    Tasks that wait for a queue, an event or a lock alone are left. So are tasks that only sleep, after a time
    that all of them share.
    """
    if not isinstance(loop, Loop):
        # The program brought a loop of its own.
        return
    before = _running_tasks(loop)
    if not (before or loop._ready or loop._scheduled):  # type: ignore[attr-defined]
        return
    selector = loop._selector
    selector.draining = True
    selector.was_cut = False
    began_us = calls.now_us()
    calls.begin_tail()
    try:
        loop.run_forever()
    except SystemExit:
        # The program has its value already; its task wanted no more than this end.
        for task in before:
            if task.done() and isinstance(task._exception, SystemExit):  # type: ignore[attr-defined]
                task._log_traceback = False  # type: ignore[attr-defined]
    finally:
        selector.draining = selector.ended = False
        calls.end_tail(began_us)
    missed = [task for task in before if task not in _given_up]
    _warn_of_tasks(sum(task.done() and not task.cancelled() for task in missed))
    if selector.was_cut:
        # Code that waited in a plain function was cancelled.
        _warn_of_cut(sum(not task.done() or task.cancelled() for task in missed))
    if selector.left_idle:
        selector.left_idle = False
        # A heartbeat or a watchdog that only sleeps and prints is no work that is left undone.
        reaching = reach.names_that_reach(source.tree_again())
        asleep = [task for task in _running_tasks(loop) + selector.left_inside if task not in _given_up]
        _warn_of_sleepers(sum(reach.may_call(task.get_coro(), reaching, source.FILE_NAME) for task in asleep))


def report_given_up() -> None:
    """Reports calls without an answer that the program gave up: by a time limit, by `cancel`, or as what `asyncio.wait` left
    pending or `asyncio.shield` kept from a time limit."""
    unanswered = [pending for pending in calls.unanswered() if pending.waiting]
    if not unanswered:
        return
    left = {future for task in _given_up if not task.done() for future in _awaited_by(task)}
    given_up = [
        pending.number for pending in unanswered if all(future.cancelled() or future in left for future in pending.waiting)
    ]
    host.give_up(given_up)


def _awaited_by(future: Any) -> set[Any]:
    """A future and those that it waits for: of a task the one that its code awaits, of `asyncio.gather` its parts."""
    found: set[Any] = set()
    open_ones = [future]
    while open_ones and len(found) < _AWAITED_MAX:
        one = open_ones.pop()
        if one is not None and one not in found:
            found.add(one)
            open_ones.append(getattr(one, "_fut_waiter", None))
            open_ones.extend(getattr(one, "_children", ()))
    return found


def _running_tasks(loop: Loop) -> list[asyncio.Task[Any]]:
    return [task for task in list(_tasks.values()) if not task.done() and task.get_loop() is loop]


def _warn_of_tasks(ended: int) -> None:
    if ended:
        which = "a task was" if ended == 1 else f"{ended} tasks were"
        host.warn(
            f"{which} still running when the program returned, and the execution waited for {'it' if ended == 1 else 'them'}; "
            "`await asyncio.gather(*tasks)` or `async with asyncio.TaskGroup()` has the results before the return"
        )


def _warn_of_cut(left: int) -> None:
    if left:
        which = "a task was" if left == 1 else f"{left} tasks were"
        host.warn(
            f"{which} still running when the time after the return was over, and {'was' if left == 1 else 'were'} cancelled; "
            "`await` each task whose work is to be done before the `return`"
        )


def _warn_of_sleepers(left: int) -> None:
    if left:
        which = "a task was" if left == 1 else f"{left} tasks were"
        host.warn(
            f"{which} asleep when the program had returned, and {'was' if left == 1 else 'were'} cancelled; "
            "`await` each task whose work is to be done"
        )


def report_failures() -> None:
    """Reports errors of tasks that no code asked for, as the garbage collector does for tasks without a reference."""
    for task in list(_tasks.values()):
        if not task.done() or task.cancelled() or not task._log_traceback:  # type: ignore[attr-defined]
            continue
        error = task.exception()
        if not isinstance(error, SystemExit):
            context = {"message": "Task exception was never retrieved", "exception": error, "task": task}
            task.get_loop().call_exception_handler(context)


def finish_all() -> None:
    """Finishes every loop of a program that has ended."""
    for loop in list(_open):
        finish(loop)


def finish(loop: Any) -> None:
    """Ends a loop as `asyncio.run` does: cancels its tasks and closes its generators."""
    try:
        left = tasks.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(tasks.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _aside(running: Any, work: Callable[[], Any]) -> Any:
    """Does something as if no loop was running."""
    task = tasks.current_task(running)
    if task is not None:
        tasks._leave_task(running, task)
    events._set_running_loop(None)
    try:
        return work()
    finally:
        events._set_running_loop(running)
        if task is not None:
            tasks._enter_task(running, task)


def create_task(coro: Any, **options: Any) -> asyncio.Task[Any]:
    """`asyncio.create_task`, also at a top level that awaits nothing: there the program's own loop runs the task."""
    return (events._get_running_loop() or home()).create_task(coro, **options)


_wait_for_many = asyncio.wait


async def wait(fs: Any, *, timeout: float | None = None, return_when: str = asyncio.ALL_COMPLETED) -> Any:
    """`asyncio.wait`, which takes calls too."""
    futures = [tasks.ensure_future(item) if is_call(item) else item for item in fs]
    done, pending = await _wait_for_many(futures, timeout=timeout, return_when=return_when)
    _given_up.update(pending)
    return done, pending


_shield = asyncio.shield


def shield(arg: Any) -> Any:
    """`asyncio.shield`, which notes that the program gave the work up when its wait is cancelled."""
    inner = tasks.ensure_future(arg)
    outer = _shield(inner)

    def note(outer: Any) -> None:
        if outer.cancelled() and not inner.done():
            _given_up.add(inner)

    if outer is not inner:
        outer.add_done_callback(note)
    return outer


async def to_thread(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`asyncio.to_thread`, without the thread: the function runs at once."""
    loop = events.get_running_loop()
    context = contextvars.copy_context()
    return await loop.run_in_executor(None, lambda: context.run(func, *args, **kwargs))


def _nest_asyncio() -> ModuleType:
    """The package that others need for loops within loops; here there is nothing left for it to do."""
    module = ModuleType("nest_asyncio")
    vars(module)["apply"] = lambda loop=None: None
    return module


def install() -> None:
    """Makes asyncio and `time.sleep` ours. To be called once, when the component is built."""
    sys.modules["nest_asyncio"] = _nest_asyncio()
    time.sleep = calls.sleep
    events._event_loop_policy = _policy
    for module, name, replacement in (
        (asyncio.runners, "run", run),
        (asyncio.threads, "to_thread", to_thread),
        (asyncio.tasks, "wait", wait),
        (asyncio.tasks, "shield", shield),
        (asyncio.tasks, "create_task", create_task),
    ):
        setattr(module, name, replacement)
        setattr(asyncio, name, replacement)
