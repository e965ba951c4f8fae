"""The component's face: what `world.wit` exports, handed on to the prelude.

Importing this module is what happens before the memory is stored; a program finds everything it
imports in place.
"""

import os
import sys

import preload  # first: the prelude replaces parts of what this imports

import wit_world
from limbeck_guest import main

# Between them they go the way of every program: read, compiled, run, with and without a loop, their
# value written down. They call nothing and print nothing.
_WARM_UP = (
    "rows = [{'id': i, 'name': f'row {i}'} for i in range(5)]\nprint(end='')\n{row['name']: row for row in rows}",
    "import asyncio\nasync def one(): return 1\nsum(await asyncio.gather(one(), one()))",
)
_NOTHING_GIVEN = '{"input":null,"servers":[],"limits":{}}'


def _warm_up() -> None:
    for program in _WARM_UP:
        kind, text = main.run(program, _NOTHING_GIVEN)
        if kind != main.VALUE:
            raise RuntimeError(f"warming up failed: {text}")


class WitWorld(wit_world.WitWorld):
    """The exports of the world."""

    def warm_up(self) -> None:
        """Touches what every program will; see `world.wit`."""
        _warm_up()

    def run(self, program: str, globals: str) -> tuple[int, str]:
        """Runs one program; see `world.wit` for what comes back."""
        # Where the paths of a program begin.
        os.chdir("/workspace")
        return main.run(program, globals)


def _store_warm() -> None:
    """Warms up now, so that what is filled or specialised lazily is stored with everything else."""
    # A program's start hides the modules of this component, this one included, which is still being imported.
    modules, stdout, stderr = dict(sys.modules), sys.stdout, sys.stderr
    _warm_up()
    sys.modules.update(modules)
    sys.stdout, sys.stderr = stdout, stderr


_store_warm()
preload.finish()
