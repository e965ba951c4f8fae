"""Runs one program from its source to its result: the only function that the component calls."""

import asyncio
import random
import sys
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from . import (
    artifacts,
    calls,
    catalog,
    compat_names,
    compat_runtime,
    host,
    jsontext,
    lazy,
    loop,
    members,
    misreads,
    models,
    offers,
    parsed,
    reach,
    record,
    refusals,
    report,
    saved,
    seal,
    skills,
    source,
    streams,
    tools,
    unawaited,
    values,
    workspace,
)  # fmt: skip
from .errors import MCPError, ToolError
from .facts import Facts, uncalled_entry
from .lazy import is_call, resolved, settle
from .rewrite import FUNCTION_NAME, STAR_NAME
from .unawaited import SETTLE_NAME

VALUE = 0
EXCEPTION = 1
NO_JSON = 2
SYNTAX = 3

Ended = tuple[int, str]

# Results for errors that cannot be reported, built while there is still memory to build them.
_LAST_WORDS: Ended = (EXCEPTION, '{"name":"Error","message":"the error cannot be read"}')
_NO_MEMORY: Ended = (EXCEPTION, '{"name":"MemoryError","message":"out of memory"}')
_CO_COROUTINE = 0x80


def run(
    program: str, globals_json: str, _out_of_memory: type[MemoryError] = MemoryError,
    _no_memory: Ended = _NO_MEMORY, _last_words: Ended = _LAST_WORDS,
) -> Ended:  # fmt: skip
    """Runs one program and returns how it ended; see `world.wit`. Its defaults hold what it needs when memory is gone."""
    try:
        kind, text = _run(program, globals_json)
        return kind, host.well_formed(text)
    except _out_of_memory:
        return _no_memory
    except BaseException:
        return _last_words


def _run(text: str, globals_json: str) -> Ended:
    start = jsontext.decode(globals_json)
    out, err = streams.install()
    tools.set_servers(start.get("servers"))
    try:
        program = source.read(text)
        entry = _entry(program)
        imported = skills.named_in(program.tree, program.facts)
        if imported is not None:
            # A skill may wait asynchronously where the program itself does not.
            program.facts.is_async = True
            skills.settle_awaited(program.tree, imported, unawaited.SETTLED_NAME)
        files = workspace.Mapping(program.text, program.tree)
        code = source.code_of(program, entry)
    except SyntaxError as error:
        return SYNTAX, report.syntax_json(error, text)
    calls.begin(blocking=not program.facts.is_async, wall_ms=(start.get("limits") or {}).get("wall_ms"))
    if "mode" in start:
        # The program is only checked: it parsed, and that is all the guest can add.
        return VALUE, ""
    module = _module(program, start)
    runner = _Run(module, out, err)
    skills.begin(_names_of_skills(vars(module)), _names_for, _entry, runner.value_of_skill)
    saved.provide(program.facts, vars(module), _names_for)
    files.fetch()
    ended = runner.end(code, entry)
    files.keep()
    for line in calls.unseen_failures():
        err.write(f"{line}\n")
    out.finish()
    err.finish()
    return ended


def _entry(program: source.Source) -> Any:
    if program.facts.returns:
        return None
    return uncalled_entry(program.tree, program.facts)


def _module(program: source.Source, start: dict[str, Any]) -> types.ModuleType:
    """The module a program runs in, with everything it may name."""
    source.remember(program)
    misreads.forget()
    random.seed()
    module = types.ModuleType("__main__")
    names = vars(module)
    limits = start.get("limits") or {}
    models.begin(start.get("llm"))
    names.update(_GLOBALS)
    given = start.get("input")
    names.update(input=record.Given(given) if isinstance(given, record.Record) else given, budget=catalog.Budget(limits, models.left))
    names.update(_names_for(program.text, program.facts))
    # Among the builtins, so that `dir()` of the program does not show them. First, because functions that were saved
    # keep the builtins of the moment when they are loaded.
    hidden = {
        SETTLE_NAME: _settled, unawaited.SETTLED_NAME: _settled_later, unawaited.ITEMS_NAME: _items,
        reach.UNREAD_NAME: reach.unread, source.ANSWER_NAME: _answer, source.TURN_NAME: calls.turn, STAR_NAME: _star_importer(names), members.FIELD_NAME: members.field,
        members.LOOPED_NAME: members.looped,
    }  # fmt: skip
    seal.enter(module, hidden)
    sys.modules["tools"] = names["tools"]
    sys.modules["skills"] = names["skills"]
    sys.modules["limbeck"] = _limbeck_module(names)
    return module


def _names_of_skills(names: dict[str, Any]) -> dict[str, Any]:
    """What a skill finds: what every program does, and no name of this one."""
    return {**_GLOBALS, **{name: names[name] for name in ("budget", "__builtins__", "__file__")}, "input": None}


def _names_for(text: str, facts: Facts) -> dict[str, Any]:
    """The names of servers and tools that a program, or a function that one saved, uses beside `tools`."""
    names = compat_runtime.globals_for(text)
    # `mcp__1mcp` is a server's, whose name begins with a digit.
    full = (name for name in facts.loaded if name.startswith("mcp__") and name not in names)
    names.update([(name, tools.full_name(name)) for name in full])
    return names


def _settled(value: Any) -> Any:
    """What a call, a coroutine or a future such as `asyncio.gather` makes comes to; any other value as it is."""
    if asyncio.isfuture(value):
        return value.get_loop().run_until_complete(value)
    if asyncio.iscoroutine(value):
        return (asyncio.events._get_running_loop() or loop.home()).run_until_complete(value)
    return settle(value)


async def _settled_later(value: Any) -> Any:
    """The same in a coroutine function."""
    return await value if asyncio.iscoroutine(value) or asyncio.isfuture(value) or is_call(value) else value


def _items(value: Any) -> Any:
    """The items of an async generator, each awaited when it is asked for; any other value as it is."""
    return _awaited_items(value) if isinstance(value, types.AsyncGeneratorType) else value


def _awaited_items(generator: Any) -> Iterator[Any]:
    while (item := _settled(_next_of(generator))) is not _NO_ITEM:
        yield item


_NO_ITEM = object()
# A None that the program returned on purpose.
_NULL = object()


def _answer(value: Any) -> Any:
    return _NULL if value is None else value


async def _next_of(generator: Any) -> Any:
    return await anext(generator, _NO_ITEM)


def _limbeck_module(names: dict[str, Any]) -> types.ModuleType:
    """What `from limbeck import tools` finds: the globals, which need no import."""
    module = types.ModuleType("limbeck", "The globals of a program.")
    vars(module).update((name, value) for name, value in names.items() if name[:1] != "_")
    return module


_GLOBALS: dict[str, Any] = {
    "tools": tools.Tools(),
    "call_tool": tools.call_tool,
    "acall_tool": tools.acall_tool,
    "search": catalog.search,
    "describe": catalog.describe,
    "servers": offers.Servers(),
    "store": catalog.Store(),
    "skills": skills.Skills(),
    "workspace": workspace.Workspace(),
    "artifacts": artifacts.Artifacts(),
    "emit": artifacts.emit,
    "ToolError": ToolError,
    "MCPError": MCPError,
    **compat_names.GLOBALS,
    **models.GLOBALS,
    **compat_runtime.GLOBALS,
}


def _star_importer(names: dict[str, Any]) -> Callable[[str], None]:
    def import_all(name: str) -> None:
        module = import_module(name)
        listed = getattr(module, "__all__", None)
        for member in listed if listed is not None else [key for key in vars(module) if key[:1] != "_"]:
            names[member] = getattr(module, member)

    return import_all


def _without_saved(value: Any) -> Any:
    """The value of the last expression; nothing for a function that `save_tool` gave back."""
    return None if skills.is_saved(value) else value


class _Run:
    """One run of compiled code."""

    def __init__(self, module: types.ModuleType, out: streams.Printed, err: streams.Printed) -> None:
        self.names = vars(module)
        self.out = out
        self.err = err

    def end(self, code: types.CodeType, entry: Any) -> Ended:
        try:
            value = self.value(code, entry)
            # Before the value is written: tasks may still fill a list in it.
            loop.drain_all()
            text = self.text_of(value)
            # A coroutine in the value may have started tasks too.
            loop.drain_all()
            loop.report_given_up()
            misreads.explain(text, jsontext.decode, lambda: reach.own_fields(source.tree_again()))
            unawaited.warn_of_coroutines(self.names, text)
            return VALUE, text
        except values.NoJson as error:
            return NO_JSON, report.cut(report.message_of(error))
        except SystemExit as error:
            return self.exited(error)
        except BaseException as error:
            return self.failed(error)
        finally:
            self.close()

    def value(self, code: types.CodeType, entry: Any) -> Any:
        """Runs the program; gives what it returned, or else its last expression, or else `result`."""
        names = self.names
        function = types.FunctionType(code, names, "<module>")
        value = self.awaited(function()) if code.co_flags & _CO_COROUTINE else function()
        if FUNCTION_NAME in names:
            value = self.awaited(names.pop(FUNCTION_NAME)())
        if value is None:
            value = _without_saved(names.pop(source.VALUE_NAME, None))
        if entry is not None:
            takes_input = entry.args.posonlyargs or entry.args.args
            needed = len(entry.args.posonlyargs) + len(entry.args.args) > len(entry.args.defaults)
            value = names[entry.name](names["input"]) if takes_input and needed else names[entry.name]()
        value = self.awaited(value)
        if value is _NULL and self.out.printed_anything():
            # The answer may be what it printed.
            return None
        if value is None and not self.out.printed_anything():
            value = self.awaited(names.get("result"))
        return value

    def value_of_skill(self, module: types.ModuleType, code: types.CodeType, entry: Any) -> Any:
        """Runs the program of a skill and gives its value to the program that called it."""
        value = _Run(module, self.out, self.err).value(code, entry)
        return None if value is _NULL else value

    def awaited(self, value: Any) -> Any:
        """What a coroutine, future or call comes to; any other value as it is."""
        if is_call(value):
            return resolved(value)
        if not (asyncio.iscoroutine(value) or asyncio.isfuture(value)):
            return value
        if asyncio.isfuture(value):
            return value.get_loop().run_until_complete(value)
        return loop.home().run_until_complete(value)

    def text_of(self, value: Any) -> str:
        if value is _NULL:
            return "null"
        return "" if value is None else values.encode_value(value, self.awaited_inside)

    def awaited_inside(self, value: Any) -> Any:
        """What a coroutine or future inside of the returned value comes to: the program meant its result. The items of an
        async generator."""
        if isinstance(value, types.AsyncGeneratorType):
            return list(_items(value))
        host.warn(
            "the returned value had a coroutine or future in it, which was awaited; write `await` before the call, or "
            "`await asyncio.gather(*calls)` for a list"
        )
        return self.awaited(value)

    def exited(self, error: SystemExit) -> Ended:
        if error.code is None or error.code == 0:
            return VALUE, ""
        line, column = report.position(error)
        return EXCEPTION, report.error_json("SystemExit", report.message_of(error), line, column)

    def failed(self, error: BaseException) -> Ended:
        if isinstance(error, MemoryError):
            self.names.clear()
        ended = report.exception_json(error)
        self.out.finish()
        report.print_traceback(error, self.err)
        return EXCEPTION, ended

    def close(self) -> None:
        """Reports errors of tasks that no code asked for, and ends the event loops as `asyncio.run` does."""
        for end in (loop.report_failures, loop.finish_all):
            try:
                end()
            except BaseException as error:
                self.err.write(f"while the program ended: {type(error).__name__}: {report.message_of(error)}\n")


lazy.install()
parsed.install()
loop.install()
refusals.install()
report.hide_prelude()
seal.keep()
