"""`llm`: questions to a model, which the gateway puts to the client or to the provider that the user configured.

Each call may be awaited or not, as calls of tools may.
"""

from collections.abc import Callable
from typing import Any

from . import calls, host, jsontext, tools, values
from .catalog import require_text
from .lazy import is_call, resolved
from .ready import ReadyList
from .record import Record

_print = jsontext.printer(None)
_AT_ONCE = 4
_AT_ONCE_MAX = 16


class _State:
    """What differs from program to program: what the run may ask, and what was left with the newest answer."""

    terms: dict[str, Any] = {}
    left: dict[str, Any] | None = None


_state = _State()


def begin(terms: Any) -> None:
    """Takes what the run may ask."""
    _state.terms = terms if isinstance(terms, dict) else {}
    _state.left = None


def left() -> Record:
    """What is left of the questions that this run may ask: `{"rounds", "tokens"}`."""
    now = _state.terms if _state.left is None else _state.left
    return Record({"rounds": now.get("rounds", 0), "tokens": now.get("tokens", 0)})


def _note_left(now: Any) -> None:
    if isinstance(now, dict):
        # Answers come in the order in which they were counted; what a question reserved and did not use comes back.
        _state.left = now


def _encoded(value: Any, label: str) -> str:
    if is_call(value):
        value = resolved(value)
    try:
        return values.encode_arguments(value, "value")
    except values.NoJson as error:
        raise TypeError(f"{label}: {error}") from None


def _start(
    action: str, label: str, name: str, question: Any, system_prompt: Any, max_tokens: Any, model: Any, schema: Any, stream: Any
) -> calls.Pending:  # fmt: skip
    if stream:
        host.warn(f"{label}: the answer comes as a whole; `stream` has no effect in Python")
    given = {"systemPrompt": system_prompt or None, "maxTokens": max_tokens, "model": model or None, "schema": schema}
    body = f'{{"do":{_print(action)},{_print(name)}:{_encoded(question, label)}'
    for option, value in given.items():
        if value is not None:
            body += f",{_print(option)}:{_encoded(value, label)}"

    def convert(answer: Any) -> Any:
        _note_left(answer.get("left"))
        return answer.get("text") if schema is None else answer.get("value")

    return calls.start(host.LLM, "", body + "}", label, convert)


class Llm:
    """`llm.ask`, `llm.think` and `llm.map`."""

    __slots__ = ()

    def ask(
        self, prompt: str, system_prompt: str = "", max_tokens: int | None = None, stream: bool = False,
        *, model: str | None = None, schema: Any = None,
    ) -> Any:  # fmt: skip
        """The text of a model's answer; with a JSON Schema in `schema`, the value that fits it."""
        question = require_text(prompt, "llm.ask")
        return tools.answer(_start("ask", "llm.ask", "prompt", question, system_prompt, max_tokens, model, schema, stream))

    def think(
        self, messages: Any, model: str | None = None, max_tokens: int | None = None, system_prompt: str = "",
        stream: bool = False, *, schema: Any = None,
    ) -> Any:  # fmt: skip
        """The answer to a conversation: `[{"role": "user", "content": "…"}]`."""
        if is_call(messages):
            messages = resolved(messages)
        if isinstance(messages, dict):
            given = dict(messages)
            messages = given.pop("messages", None)
            model = given.pop("model", model)
            max_tokens = given.pop("max_tokens", given.pop("maxTokens", max_tokens))
            system_prompt = given.pop("system_prompt", given.pop("systemPrompt", system_prompt))
        if not isinstance(messages, (list, tuple)):
            raise TypeError('llm.think takes messages, such as [{"role": "user", "content": "…"}]')
        return tools.answer(
            _start("think", "llm.think", "messages", messages, system_prompt, max_tokens, model, schema, stream)
        )

    def map(
        self, items: Any, prompt: str | Callable[[Any], str], concurrency: int = _AT_ONCE, system_prompt: str = "",
        max_tokens: int | None = None, *, model: str | None = None, schema: Any = None,
    ) -> ReadyList:  # fmt: skip
        """The answers to one question about each item, in the order of the items."""
        if is_call(items):
            items = resolved(items)
        if not callable(prompt):
            prompt = require_text(prompt, "llm.map")
        given = list(items)
        at_once = max(1, min(_AT_ONCE_MAX, int(concurrency)))
        answers = ReadyList()
        asked: list[calls.Pending] = []
        for item in given:
            if len(asked) == at_once:
                answers.append(asked.pop(0).result())
            if callable(prompt):
                text = require_text(prompt(item), "llm.map")
            else:
                text = f"{prompt}\n\n{item if isinstance(item, str) else _encoded(item, 'llm.map')}"
            asked.append(_start("ask", "llm.map", "prompt", text, system_prompt, max_tokens, model, schema, False))
        answers.extend(pending.result() for pending in asked)
        return answers

    def __repr__(self) -> str:
        return "[llm]"


GLOBALS: dict[str, Any] = {"llm": Llm()}
