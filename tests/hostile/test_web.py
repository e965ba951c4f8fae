"""Servers on HTTP that answer in every wrong way."""

import json
import time

import pytest

from certified import certified
from siege import Siege, besieged, remote, web_server
from silence import Silence
from world import World

NOWHERE = "http://127.0.0.1:9/"
SECRET = "CANARY-header-0123456789abcdef"


def refused(siege: Siege) -> dict[str, object]:
    """Error of a call of a server that cannot be used: in time, with a reason and a next step."""
    began = time.monotonic()
    error = siege.call("fetch").error
    assert time.monotonic() - began < 60
    assert error["hint"], error
    assert SECRET not in str(error)
    return error


@pytest.mark.parametrize("mode", ["redirect", "crossorigin"])
def test_w01_w02_a_redirect_elsewhere_is_not_followed_and_carries_no_credential(world: World, mode: str) -> None:
    with Silence() as silence, web_server("h26", mode, f"http://127.0.0.1:{silence.port}/latest") as origin:
        with besieged(world, remote(f"{origin}/mcp", Authorization=f"Bearer {SECRET}")) as siege:
            assert "latest" not in str(refused(siege)["message"])


@pytest.mark.parametrize("mode", ["loop", "scheme"])
def test_w03_redirects_in_a_circle_or_to_a_file_end_at_once(world: World, mode: str) -> None:
    with web_server("h26", mode, NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        assert "root:" not in str(refused(siege))


@pytest.mark.parametrize("mode", ["sse", "ssebig"])
def test_w04_a_stream_or_an_event_without_end_ends_with_its_time_or_its_bound(world: World, mode: str) -> None:
    with web_server("h26", mode, NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        ended = siege.execute("return await tools.hostile.fetch({});", timeout_ms=3_000)
        assert ended["status"] == "failed"


def test_w05_a_header_that_comes_byte_by_byte_holds_up_nobody_else(world: World) -> None:
    with web_server("h26", "slow", NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        ended = siege.execute("return await tools.hostile.fetch({});", timeout_ms=3_000)
        assert ended["status"] == "failed"


@pytest.mark.parametrize("mode", ["hugeheader", "lyinglength", "badchunk"])
def test_w06_an_answer_whose_frame_lies_is_refused(world: World, mode: str) -> None:
    with web_server("h26", mode, NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        refused(siege)


def test_w07_a_bomb_is_not_unpacked(world: World) -> None:
    with web_server("h26", "gzipbomb", NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        refused(siege)


@pytest.mark.parametrize("mode", ["wrongtype", "http500", "retryafter"])
def test_w08_an_answer_that_is_no_answer_is_named_and_its_page_stays_out(world: World, mode: str) -> None:
    with web_server("h26", mode, NOWHERE) as origin:
        with besieged(world, remote(f"{origin}/mcp", Authorization=f"Bearer {SECRET}")) as siege:
            assert "<html>" not in str(refused(siege)["message"])


def test_w09_metadata_on_another_origin_is_not_fetched(world: World) -> None:
    with Silence() as silence, web_server("h26", "unauth", f"http://127.0.0.1:{silence.port}/meta") as origin:
        with besieged(world, remote(f"{origin}/mcp")) as siege:
            assert "limbeck auth" in str(refused(siege)["hint"])


def test_w10_a_cookie_is_never_sent_back_and_a_changed_session_is_no_other_servers(world: World) -> None:
    with web_server("h26", "session", NOWHERE) as origin, besieged(world, remote(f"{origin}/mcp")) as siege:
        for _ in range(3):
            sent = json.loads(siege.call("fetch").value)
            assert "cookie" not in sent


def test_w11_private_data_that_says_it_is_public_stays_with_its_credential(world: World) -> None:
    with web_server("h26", "publiccache", NOWHERE) as origin:
        for name in ("first", "second"):
            with besieged(world, remote(f"{origin}/mcp", **{"X-Tenant": name})) as siege:
                siege.call("fetch")
                assert f"Private data of {name}" in siege.search("fetch private data")


def test_w16_a_proxy_of_the_environment_is_never_asked_for_a_server_on_this_machine(world: World) -> None:
    with Silence() as silence, web_server("h26", "echo", NOWHERE) as origin:
        proxy = f"http://127.0.0.1:{silence.port}"
        variables = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"), proxy)
        with besieged(world, remote(f"{origin}/mcp"), **variables) as siege:
            assert json.loads(siege.call("fetch").value)["host"] in origin


@pytest.mark.parametrize(
    "host", ["2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "[::]", "0.0.0.0", "127.0.0.1."]
)
def test_w13_this_machine_under_another_spelling_is_reached_only_when_clear_text_may_go_there(
    world: World, host: str
) -> None:
    with Silence() as silence:
        config = world.config({"hostile": {"type": "http", "url": f"http://{host}:{silence.port}/mcp"}})
        ran = world.limbeck("tools", "--config", str(config), "--no-discover")
        assert "hostile" in ran.stdout + ran.stderr
        assert silence.visits <= 1


@pytest.mark.parametrize(("name", "days"), [("localhost", 1), ("localhost", -1), ("elsewhere.example", 1)])
def test_w14_a_certificate_nobody_vouches_for_is_refused_before_anything_is_sent(
    world: World, name: str, days: int
) -> None:
    with certified(world, name, days) as listener:
        entry = remote(f"https://localhost:{listener.port}/mcp", Authorization=f"Bearer {SECRET}")
        with besieged(world, entry) as siege:
            assert "certificate" in str(refused(siege)["message"])
        assert listener.bytes_read == 0
