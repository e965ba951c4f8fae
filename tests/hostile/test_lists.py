"""Servers that attack with their `tools/list`."""

import ast

import pytest

from processes import wait_until
from siege import besieged, server, words
from silence import Silence
from world import World

LINE_BYTES_MAX = 24 << 20
REST = ": the rest was left out"


def test_d01_a_list_of_64_mib_is_refused_while_it_is_read(world: World) -> None:
    with besieged(world, server("h01")) as siege:
        error = siege.call("big0").error
        assert error["code"] == "limit_exceeded"
        assert f"more than {LINE_BYTES_MAX} bytes (671" in error["message"]
        assert siege.tool_count() == 0


def test_d01_a_list_just_within_the_line_is_read_and_its_texts_are_cut(world: World) -> None:
    with besieged(world, server("h01", HOSTILE_SCALE="0.3")) as siege:
        assert siege.call("big0", a=1).value == {"a": 1}
        assert siege.tool_count() == 4
        assert len(siege.search("big0", limit=1)) < 64 << 10


def test_d01_what_a_person_reads_of_a_list_that_was_refused(world: World) -> None:
    shown = words(world, server("h01"))
    assert shown.names == []
    assert f"more than {LINE_BYTES_MAX} bytes" in shown.printed
    assert "hint:" in shown.printed


def test_d02_a_hundred_thousand_tools_are_cut_to_two_thousand(world: World) -> None:
    with besieged(world, server("h02")) as siege:
        assert siege.call("tool_000001", a=1).value == {"a": 1}
        assert siege.call("tool_050000").error["code"] == "unknown_tool"
        assert siege.tool_count() == 2_000
        assert "tools.healthy.echo" in siege.search("echo", server="healthy")


def test_d02_the_cut_is_said(world: World) -> None:
    shown = words(world, server("h02"))
    assert len(shown.names) == 2_000
    assert f"the server offers more than 2000 tools{REST}" in shown.printed


@pytest.mark.parametrize(
    ("mode", "tools", "reason"),
    [
        ("same", 2, "page 2 ends in a cursor that was used before"),
        ("grow", 64, "the list has more than 64 pages"),
        ("empty", 0, "the list has more than 64 pages"),
        ("huge", 1, "page 1 ends in a cursor of 1048577 bytes"),
    ],
)
def test_d03_pages_without_end_are_cut_and_the_cut_is_said(
    world: World, mode: str, tools: int, reason: str
) -> None:
    with besieged(world, server("h03", mode)) as siege:
        if tools:
            assert siege.call("t1", a=1).value == {"a": 1}
        assert siege.tool_count() == tools
    assert reason + REST in words(world, server("h03", mode)).printed


def test_d04_a_server_answers_for_itself_alone_whatever_it_calls_itself_and_its_tools(world: World) -> None:
    with besieged(world, server("h04")) as siege:
        for name in ("read_file", "execute", "mcp__healthy__echo", "healthy.echo", "a b"):
            assert siege.call(name).value == f"SHADOW-ANSWER {name}"
        # The gateway's own tools and the other server's are what they were.
        assert siege.execute("return 6 * 7;")["value"] == 42
        assert siege.call("echo", server="healthy", n=1).value == {"n": 1}
        for alias in ("mcp__healthy__echo({ n: 1 })", "callMCPTool('mcp__healthy__echo', { n: 1 })"):
            assert "SHADOW" not in str(siege.execute(f"return await {alias};"))
        listed = siege.peer.ask("tools/list", {})["tools"]
        assert [tool["name"] for tool in listed] == ["search", "execute"]


def test_d04_a_name_listed_twice_counts_once_and_that_is_said(world: World) -> None:
    shown = words(world, server("h04"))
    assert shown.names.count("read_file") == 1
    assert "tool 2: `read_file` was listed before; only the first one is used" in shown.printed


def test_d05_names_nobody_can_read_or_write_are_left_out_and_the_good_tool_stays(world: World) -> None:
    with besieged(world, server("h05")) as siege:
        assert siege.call("good_tool", a=1).value == {"a": 1}
        for name in ("__proto__", "prototype", "class", "x'); process.exit(1); ('", "$(id)"):
            assert siege.call(name, a=1).value == {"a": 1}
        for name in ("a\x1b[31mb", "a\u202eb", "b" * 129):
            assert siege.call(name).error["code"] == "unknown_tool"
        assert "tools.hostile.good_tool" in siege.search("good tool")


def test_d05_what_was_left_out_is_said_in_escapes(world: World) -> None:
    shown = words(world, server("h05"))
    assert "good_tool" in shown.names and "no_schema" in shown.names
    assert r"a\u{1b}[31mb" in shown.printed
    assert r"a\u{202e}b" in shown.printed
    everything = "\n".join(shown.report["dropped"])
    assert "its name has 1000000 characters, more than 128" in everything
    assert "its name is not a string" in everything


def test_d05_the_types_written_for_odd_names_are_python_and_no_more(world: World) -> None:
    config = world.config({"hostile": server("h05")})
    ran = world.limbeck(
        *("types", "--language", "python", "-o", str(world.project), "--config", str(config), "--no-discover")
    )
    assert ran.returncode == 0, ran.stderr
    stubs = list(world.project.rglob("*.pyi"))
    assert any("good_tool" in stub.read_text() for stub in stubs), stubs
    for stub in stubs:
        tree = ast.parse(stub.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
        assert not any(alias.name == "os" for node in imports for alias in node.names), stub


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_d06_poisoned_descriptions_are_cleaned_and_cut_and_nothing_is_fetched(world: World, era: str) -> None:
    with Silence() as silence, besieged(world, server("h06", silence.port, HOSTILE_ERA=era)) as siege:
        assert siege.call("add0", a=1).value == {"a": 1}
        for query in ("add numbers", "note mode fast"):
            found = siege.search(query, limit=8)
            assert "tools.hostile.add" in found
            assert len(found) < 64 << 10
        assert "leak()" not in str(siege.peer.ask("tools/list", {}))


def test_d06_the_types_written_for_poisoned_descriptions_declare_what_they_should(world: World) -> None:
    with Silence() as silence:
        config = world.config({"hostile": server("h06", silence.port)})
        for language, ends in (("typescript", ".d.ts"), ("python", ".pyi")):
            into = world.root / language
            ran = world.limbeck(
                *("types", "--language", language, "-o", str(into), "--config", str(config), "--no-discover")
            )
            assert ran.returncode == 0, ran.stderr
            written = {path: path.read_text() for path in into.rglob("*") if path.name.endswith(ends)}
            assert any("add7" in text for text in written.values()), written.keys()
            for path, text in written.items():
                assert "\x1b" not in text
                if ends == ".pyi":
                    assert not any(isinstance(node, ast.Import) for node in ast.walk(ast.parse(text))), path


def test_d07_schemas_that_explode_cost_nobody_else_and_reach_no_network(world: World) -> None:
    with Silence() as silence, besieged(world, server("h07", silence.port)) as siege:
        assert siege.call("fine", a=1).value == {"a": 1}
        for name, given in {
            "redos": {"x": "a" * 40 + "!"},
            "exponential": {"x": 5},
            "combinatoric": {"k1": 1},
            "remote_http": {"x": 1},
            "remote_file": {"x": 1},
            "remote_id": {"x": 1},
            "self_ref": {},
            "ref_loop": {},
            "bad_regex": {"x": "a"},
            "deep": {"a": {"a": 1}},
            "proto_props": {},
            "header_line_break": {"x": "1"},
        }.items():
            began = siege.execute("return 1;")["status"]
            assert began == "completed"
            # Rejected or sent; the limit of the call asserts that it is answered in time.
            siege.call(name, **given)


def test_d08_a_tool_that_turns_bad_in_silence_is_still_only_that_servers_tool(world: World) -> None:
    with besieged(world, server("h08", "silent")) as siege:
        assert siege.call("get_weather", city="Graz").value == "sunny"
        assert siege.call("get_weather", city="Graz").value == "RUG-PULLED"
        assert "mcp__vault" not in siege.search("weather", server="healthy")


def test_d08_a_tool_that_turns_bad_and_says_so_is_judged_by_what_it_is_now_and_the_log_says_so(world: World) -> None:
    with besieged(world, server("h08", "notify")) as siege:
        assert siege.call("get_weather", city="Graz").value == "sunny"
        wait_until(lambda: "helper_upload" in siege.search("helper upload"), "the tools are listed again")
        assert "missing required argument `context`" in siege.call("get_weather", city="Graz").error["message"]
    assert "the definition of a tool changed since it was last listed" in world.log.read_text()
