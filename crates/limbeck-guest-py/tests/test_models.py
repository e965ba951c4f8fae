"""`llm`: what leaves the program, and what it gets."""

import pytest


@pytest.mark.parametrize("call", ["llm.ask('x', 'Be terse', 50)", "await llm.ask('x', system_prompt='Be terse', max_tokens=50)"])
def test_a_question_is_answered_with_text_awaited_or_not(run, call):
    ended = run(f"answer = {call}\nprint(answer + '!')\nbudget.llm")
    assert ended.stdout == "X!\n"
    assert ended.value == {"rounds": 9, "tokens": 1000}
    body = {"do": "ask", "prompt": "x", "systemPrompt": "Be terse", "maxTokens": 50}
    assert ended.gateway.calls == [("llm", body)]


def test_a_conversation_is_a_list_or_an_object_with_it(run):
    messages = [{"role": "user", "content": "hello"}]
    for call in (f"llm.think({messages})", f"await llm.think({{'messages': {messages}, 'model': ''}})"):
        ended = run(call)
        assert ended.value == "HELLO"
        assert ended.gateway.calls == [("llm", {"do": "think", "messages": messages})]


def test_a_schema_gives_a_value_and_a_list_is_mapped_in_its_order(run):
    assert run("llm.ask('four', schema={'type': 'integer'})").value == 4
    ended = run("[a for a in llm.map(['a', {'b': 1}], 'Say')]")
    assert ended.value == ["SAY\n\nA", 'SAY\n\n{"B":1}']
    ended = run("await llm.map(range(9), lambda n: 'n' * (n + 1), concurrency=3, schema={})")
    assert ended.value == list(range(1, 10))


def test_what_goes_wrong_is_an_error_of_the_runtime(run):
    ended = run("try:\n    llm.ask('fail')\nexcept RuntimeError as error:\n    print(error, error.code)")
    assert ended.stdout == "no model can be asked unsupported\n"
    assert run("llm.ask(7)").error["name"] == "TypeError"
    assert run("llm.think('x')").error["name"] == "TypeError"


def test_streaming_warns_and_answers(run):
    ended = run("llm.ask('x', stream=True)")
    assert ended.value == "X"
    assert any("stream" in line for line in ended.gateway.lines[2])
