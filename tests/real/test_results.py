"""The kinds of results and errors a server can give, from the reference server made to show them."""

import time

import pytest

from gateway import Gateway


def test_one_text_is_a_string_and_structured_content_is_the_value(gateway: Gateway) -> None:
    value = gateway.execute(
        """
        const { everything } = tools;
        return {
          echo: await everything.echo({ message: input }),
          sum: await everything["get-sum"]({ a: 1.5, b: -4 }),
          weather: await everything["get-structured-content"]({ location: "Chicago" }),
        };
        """,
        input='{"not": "parsed"}',
    ).value

    assert value["echo"] == 'Echo: {"not": "parsed"}'
    assert value["sum"] == "The sum of 1.5 and -4 is -2.5."
    assert set(value["weather"]) == {"temperature", "conditions", "humidity"}


def test_blocks_that_are_no_text_come_as_a_list_and_raw_gives_the_whole_result(gateway: Gateway) -> None:
    value = gateway.execute(
        """
        const image = tools.everything["get-tiny-image"];
        return { value: await image(), raw: await image.raw(), links: await tools.everything["get-resource-links"]({ count: 2 }) };
        """
    ).value

    first, image, *_ = value["value"]
    assert isinstance(first, str)
    assert (image["artifact"][:4], image["mimeType"]) == ("art_", "image/png")
    assert value["raw"]["content"][1]["mimeType"] == "image/png", value["raw"]
    assert value["raw"]["content"][0] == {"type": "text", "text": first}
    assert [block["type"] for block in value["links"][1:]] == ["resource_link"] * 2


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ('echo({ mesage: "x" })', ["message"]),
        ("echo({ message: 5 })", ["message", "string"]),
        ('["get-sum"]({ a: 1 })', ["`b`"]),
        ('["get-structured-content"]({ location: "Paris" })', ["location", "New York", "Los Angeles"]),
        ('["get-resource-links"]({ count: 11 })', ["count", "10"]),
    ],
)
def test_wrong_arguments_throw_before_anything_is_sent_and_are_named(
    gateway: Gateway, call: str, named: list[str]
) -> None:
    callee = f"tools.everything{call}" if call.startswith("[") else f"tools.everything.{call}"
    caught = gateway.execute(f"try {{ return await {callee}; }} catch (error) {{ return error; }}")

    error = caught.value
    assert (error["name"], error["code"]) == ("ToolError", "invalid_arguments"), error
    shown = f"{error['message']} {error.get('hint', '')}"
    assert all(name in shown for name in named), shown
    assert caught.effects == {"reads": 0, "writes": 0}


def test_an_error_nobody_catches_ends_the_program_at_its_own_line(gateway: Gateway) -> None:
    error = gateway.execute(
        'const first = 1;\n\nawait tools.everything.echo({ message: "sent" });\nawait tools.everything.echo(input);\nreturn first;',
        input={},
    ).error

    assert error["kind"] == "exception"
    assert error["line"] == 4
    assert "message" in error["message"]


def test_an_unknown_tool_names_the_nearest_and_a_known_one_beside_it_works(gateway: Gateway) -> None:
    value = gateway.execute(
        """
        const attempt = (call) => call().catch(({ code, message, hint }) => ({ code, message, hint }));
        return [
          await attempt(() => tools.everything.eko({ message: "x" })),
          await attempt(() => tools.evrything.echo({ message: "x" })),
          await attempt(() => tools.everything.echo({ message: "x" })),
        ];
        """
    ).value

    tool, server, control = value
    assert tool["code"] == "unknown_tool" and "echo" in tool["hint"]
    assert server["code"] == "unknown_server" and "everything" in server["hint"]
    assert control == "Echo: x"


def test_long_operations_of_one_server_run_side_by_side(gateway: Gateway) -> None:
    operation = 'tools.everything["trigger-long-running-operation"]'
    assert "completed" in gateway.execute(f"return await {operation}({{ duration: 0.01, steps: 1 }});").value

    started = time.monotonic()
    value = gateway.execute(
        f"return await Promise.all([5, 5, 5].map((duration) => {operation}({{ duration, steps: 2 }})));"
    ).value
    took = time.monotonic() - started

    assert len(value) == 3 and all("completed" in text for text in value)
    # One after another they would take 15 seconds.
    assert 5 <= took < 14


def test_executions_of_one_client_run_side_by_side(gateway: Gateway) -> None:
    operation = 'tools.everything["trigger-long-running-operation"]'
    gateway.execute(f"return await {operation}({{ duration: 0.01, steps: 1 }});")

    started = time.monotonic()
    running = [gateway.start(f"return await {operation}({{ duration: 5, steps: 1 }});") for _ in range(3)]
    results = [future.result(timeout=60) for future in running]
    took = time.monotonic() - started

    assert not any(result.is_error for result in results)
    # One after another they would take 15 seconds.
    assert 5 <= took < 14
