# attack: asks for input in every possible way, to wait for a person at a terminal
# property: S26
# timeout_ms: 5000
# expect: value []
import builtins
import code
import getpass
import os
import pdb
import sys

waited = []
for how, ask in {
    "input": lambda: builtins.input("? "),
    "stdin": lambda: sys.stdin.readline() or 1 / 0,
    "read": lambda: sys.stdin.read() or 1 / 0,
    "os.read": lambda: os.read(0, 1) or 1 / 0,
    "getpass": lambda: getpass.getpass(),
    "breakpoint": lambda: breakpoint() or 1 / 0,
    "pdb": lambda: pdb.set_trace() or 1 / 0,
    "interact": lambda: code.interact() or 1 / 0,
    "help": lambda: help() or 1 / 0,
}.items():
    try:
        waited.append(f"{how}: {ask()!r}")
    except BaseException:
        pass
return waited
