"""Servers that attack with their sign-in: `limbeck auth login` rejects it, or requests no more than it should."""

import subprocess
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from siege import CONTROLS, web_server
from world import LIMBECK, PATIENCE_S, World

CODE = "CANARY-code-0123456789abcdef"


class Login:
    """A running `limbeck auth login`."""

    def __init__(self, world: World, origin: str) -> None:
        config = world.config({"hostile": {"type": "http", "url": f"{origin}/mcp"}})
        options = ["--config", str(config), "--no-discover"]
        # A fake browser that records its arguments; it must not be started.
        browser = world.root / "browser"
        browser.write_text('#!/bin/sh\necho "$@" >> "$0.asked"\n')
        browser.chmod(0o700)
        environment = world.environment(BROWSER=str(browser))
        self.asked = world.root / "browser.asked"
        self.process = subprocess.Popen(
            [LIMBECK, "auth", "login", "hostile", "--timeout", "20", *options],
            env=environment,
            cwd=world.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def page(self) -> str:
        """The address it asks a person to open."""
        return self.process.stdout.readline().strip()

    def redirected(self, page: str) -> None:
        """Pastes where a browser would have ended up."""
        asked = parse_qs(urlsplit(page).query)
        answer = {"code": CODE, "state": asked["state"][0]}
        self.process.stdin.write(f"{asked['redirect_uri'][0]}?{urlencode(answer)}\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str, str]:
        """Its exit code, and what was left on its outputs."""
        output, words = self.process.communicate(timeout=PATIENCE_S)
        assert not CONTROLS.search(words), words
        assert CODE not in words
        assert not self.asked.exists(), "a browser was opened without a desktop"
        return self.process.returncode, output, words


REFUSED = {
    "o02_jsurl": "javascript",
    "o02_file": "file",
    "o03_issuermix": "accounts.example.invalid",
    "o04_resourcespoof": "api.example.invalid",
    "o05_nopkce": "S256",
    "o08_badtype": "",
    "w09_ssrf": "",
}


@pytest.mark.parametrize("case", REFUSED)
def test_o02_to_o08_metadata_of_somebody_else_or_of_nobody_ends_the_sign_in(world: World, case: str) -> None:
    _, mode = case.split("_")
    with web_server("h27", mode) as origin:
        code, output, words = Login(world, origin).end()
    assert code == 1, words
    assert output == "", "a page was shown"
    assert "error:" in words and REFUSED[case] in words


def test_o01_a_page_with_shell_syntax_is_shown_to_nobody(world: World) -> None:
    with web_server("h27", "inject") as origin:
        code, output, words = Login(world, origin).end()
    assert (code, output) == (1, "")
    assert "characters that no URI has" in words


def test_o06_scopes_for_everything_are_not_asked_for(world: World) -> None:
    with web_server("h27", "wildscope") as origin:
        login = Login(world, origin)
        page = login.page()
        login.process.terminate()
        login.end()
    assert not {"*"} & set(parse_qs(urlsplit(page).query).get("scope", [""])[0].split())


def test_o07_a_token_endpoint_that_repeats_what_it_was_sent_is_not_repeated(world: World) -> None:
    with web_server("h27", "tokenleak") as origin:
        login = Login(world, origin)
        login.redirected(login.page())
        code, _, words = login.end()
    assert code == 1
    assert "code_verifier" not in words


def test_o08_a_token_that_lives_for_ever_is_refused_or_cut(world: World) -> None:
    with web_server("h27", "hugeexpiry") as origin:
        login = Login(world, origin)
        login.redirected(login.page())
        code, _, words = login.end()
    assert code in (0, 1) and "panicked" not in words
