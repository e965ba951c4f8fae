"""Every form of a tool name in a program makes the same call."""

import pytest

from gateway import Gateway


@pytest.mark.parametrize(
    ("call", "written", "meant"),
    [
        ("tools.filesystem.readTextFile({ path })", "readTextFile", "read_text_file"),
        ("tools.everything.getSum({ a: 1, b: 2 })", "getSum", "get-sum"),
        ("tools.everything.get_sum({ a: 1, b: 2 })", "get_sum", "get-sum"),
        (
            "tools.time.convertTime({ time: '12:00', source_timezone: 'UTC', target_timezone: 'UTC' })",
            "convertTime",
            "convert_time",
        ),
        (
            "tools.sequentialThinking.sequentialthinking({ thought: 'x', thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false })",
            "sequentialThinking",
            "sequential-thinking",
        ),
    ],
    ids=lambda text: text if text.isidentifier() else "",
)
def test_an_alias_is_called_and_a_warning_says_what_it_stands_for(
    gateway: Gateway, call: str, written: str, meant: str
) -> None:
    path = gateway.world.files / "alias.txt"
    path.write_text("by another name")

    ran = gateway.execute(f"const path = input; return await {call};", input=str(path))

    assert ran.value
    assert any(written in warning and meant in warning for warning in ran.warnings), ran.warnings


def test_the_name_the_server_gave_is_called_without_a_warning(gateway: Gateway) -> None:
    assert not gateway.execute('return await tools.everything["get-sum"]({ a: 1, b: 2 });').warnings


@pytest.mark.parametrize(
    "call",
    [
        "callMCPTool('mcp__filesystem__read_text_file', { path: input })",
        "callMCPTool('filesystem', 'read_text_file', { path: input })",
        "tools.filesystem.read_text_file({ path: input }).then(({ content }) => content)",
    ],
)
def test_both_older_forms_of_a_call_give_the_same_text(gateway: Gateway, call: str) -> None:
    path = gateway.world.files / "plain.txt"
    path.write_text("the same words\n")

    ran = gateway.execute(f"return await {call};", input=str(path))

    assert ran.value == "the same words\n"
    assert ran.effects == {"reads": 1, "writes": 0}


def test_the_older_forms_reach_servers_whose_names_are_no_identifiers(gateway: Gateway) -> None:
    value = gateway.execute(
        """
        const thought = { thought: "x", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false };
        return [
          await callMCPTool("mcp__sequential-thinking__sequentialthinking", thought),
          await callMCPTool("sequential-thinking", "sequentialthinking", thought),
          await callMCPTool("mcp__everything__get-sum", { a: 1, b: 2 }),
        ];
        """
    ).value

    assert [value[0]["thoughtNumber"], value[1]["thoughtNumber"]] == [1, 1]
    assert value[2] == "The sum of 1 and 2 is 3."
