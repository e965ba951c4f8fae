"""Properties that only the engine has."""

import re

import pytest

from corpus import DIVERGENCES
from engine import Engine

# Modules of the standard library that only other systems have, and its jokes.
ELSEWHERE = {"antigravity", "idlelib", "msvcrt", "nt", "this", "winreg", "winsound"}
IMPORT_ALL = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
missing = []
for name in sorted(sys.stdlib_module_names):
    if not name.startswith("_") and name not in input:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
missing
"""

HELPFUL = {
    "requests": "search(",
    "numpy": "numpy",
    "pandas": "pandas",
}


@pytest.mark.parametrize("module", HELPFUL)
def test_a_missing_module_comes_with_what_to_do_instead(engine: Engine, module: str) -> None:
    error = engine.execute_source(f"import {module}")["error"]

    assert (error["kind"], error["line"]) == ("exception", 1)
    assert error["message"].startswith("ModuleNotFoundError") and HELPFUL[module] in error["hint"], error


def test_the_module_that_nests_loops_elsewhere_can_be_imported_and_does_nothing(engine: Engine) -> None:
    source = "import asyncio, nest_asyncio\nnest_asyncio.apply()\nasync def main():\n    return (await tools.wiki.list_pages())['pages'][0]\n"

    assert engine.execute_source(f"{source}[await main(), asyncio.run(main())]")["value"] == ["home", "home"]


def test_the_missing_modules_are_those_the_document_lists(engine: Engine) -> None:
    listed = re.search(r"modules are missing.*?: (.*?)\. ", DIVERGENCES.read_text(), re.DOTALL)
    assert listed is not None

    missing = engine.execute_source(IMPORT_ALL, input=sorted(ELSEWHERE))["value"]

    assert missing == re.findall(r"`(\w+)`", listed[1])


@pytest.mark.parametrize(
    "show", ["traceback.print_exc()", "print(traceback.format_exc())", "logging.exception('failed')"]
)
def test_a_traceback_that_a_program_makes_shows_its_own_lines_and_no_others(engine: Engine, show: str) -> None:
    source = f"import logging, traceback\ntry:\n    tools.github.get_issue(owner='a', repo='b', number=999)\nexcept ToolError:\n    {show}\n"
    envelope = engine.execute_source(source)

    shown = envelope.get("stdout", "") + envelope.get("stderr", "")
    frames = [line.strip() for line in shown.splitlines() if line.lstrip().startswith("File ")]
    assert frames == ['File "program.py", line 3, in <module>'], shown


def test_nothing_a_program_changes_is_seen_by_the_next(engine: Engine) -> None:
    engine.execute_source(
        "import builtins, json, random\nbuiltins.left = json.left = 1\nrandom.seed(1)\nopen('/tmp/left', 'w').write('x')"
    )

    seen = engine.execute_source(
        "import builtins, json, os\n[hasattr(builtins, 'left'), hasattr(json, 'left'), os.path.exists('/tmp/left')]"
    )

    assert seen["value"] == [False, False, False]


def test_a_program_that_waits_for_what_nothing_will_settle_ends_at_once(engine: Engine) -> None:
    envelope = engine.execute_source(
        "import asyncio\nprint('waiting')\nawait asyncio.get_running_loop().create_future()"
    )

    assert envelope["stdout"] == "waiting\n"
    assert envelope["error"]["kind"] == "never_settles", envelope


def test_a_saved_tool_is_there_in_the_next_program(engine: Engine) -> None:
    saved = engine.execute_source(
        "def corpus_titles(slugs):\n"
        "    return [tools.wiki.get_page(slug=slug)['title'] for slug in slugs]\n"
        "save_tool(corpus_titles)\n"
    )
    assert saved["status"] == "completed", saved

    assert engine.execute_source("corpus_titles(['home', 'faq'])")["value"] == ["Home", "FAQ"]


def test_a_model_that_cannot_be_asked_is_an_error_that_says_so(engine: Engine) -> None:
    envelope = engine.execute_source("await llm.ask('Summarise this')")

    assert envelope["error"]["line"] == 1
    assert "not enabled" in envelope["error"]["message"]
