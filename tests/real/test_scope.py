"""`tools` patterns: a denial beside a control that succeeds, and every place the effect could show."""

import pytest

from gateway import Gateway

ATTEMPTS = """
const attempt = (call) => call.then(() => "done", ({ code, message }) => ({ code, message }));
return {
  read: await attempt(tools.filesystem.read_text_file({ path: input.readable })),
  write: await attempt(tools.filesystem.write_file({ path: input.target, content: "x" })),
  older: await attempt(callMCPTool("mcp__filesystem__write_file", { path: input.target, content: "x" })),
  alias: await attempt(tools.filesystem.writeFile({ path: input.target, content: "x" })),
  echo: await attempt(tools.everything.echo({ message: "x" })),
};
"""


@pytest.mark.parametrize(
    ("patterns", "allowed"),
    [
        (["filesystem.read_*"], {"read"}),
        (["mcp__filesystem__read_text_file"], {"read"}),
        (["everything"], {"echo"}),
        (["*.read_*", "everything.echo"], {"read", "echo"}),
        ([], set()),
        (["*"], {"read", "write", "older", "alias", "echo"}),
    ],
    ids=str,
)
def test_what_no_pattern_matches_is_denied_and_the_rest_is_done(
    gateway: Gateway, patterns: list[str], allowed: set[str]
) -> None:
    readable = gateway.world.files / "readable.txt"
    readable.write_text("r")
    target = gateway.world.files / "target.txt"
    target.unlink(missing_ok=True)

    ran = gateway.execute(ATTEMPTS, input={"readable": str(readable), "target": str(target)}, tools=patterns)

    outcomes = ran.value
    assert {name for name, outcome in outcomes.items() if outcome == "done"} == allowed
    for name in outcomes.keys() - allowed:
        assert outcomes[name]["code"] == "denied", name
        assert "outside the tools this execution may use" in outcomes[name]["message"]
    assert target.exists() == ("write" in allowed)
    assert ran.effects["writes"] == (3 if "write" in allowed else 0)


def test_a_program_does_not_find_what_it_may_not_call(gateway: Gateway) -> None:
    code = 'return (await search("write a file")).map(({ server, tool }) => `${server}.${tool}`);'

    assert "filesystem.write_file" in gateway.execute(code).value
    assert "filesystem.write_file" not in gateway.execute(code, tools=["filesystem.read_*"]).value


def test_the_scope_of_one_execution_does_not_outlive_it(gateway: Gateway) -> None:
    code = 'return await tools.everything.echo({ message: "again" });'

    assert "outside the tools" in gateway.execute(code, tools=["filesystem"]).error["message"]
    assert gateway.execute(code).value == "Echo: again"
