"""The recorded demo of the README is what the executable prints."""

import subprocess
import sys

from conftest import LIMBECK, ROOT


def test_the_picture_is_that_of_a_fresh_run() -> None:
    recorder = [sys.executable, ROOT / "packaging/demo/record.py", "--check", LIMBECK]
    checked = subprocess.run(recorder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    # The control: another output is noticed.
    sample = (ROOT / "docs/images/demo.svg").read_text()
    assert "times fewer tokens" in sample and "list_customers" in sample
