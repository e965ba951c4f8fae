"""The component's face: what `world.wit` exports, handed on to the prelude.

Importing this module is what happens before the memory is stored; a program finds everything it
imports in place.
"""

import os

import preload  # first: the prelude replaces parts of what this imports

import wit_world
from limbeck_guest import main


class WitWorld(wit_world.WitWorld):
    """The export of the world."""

    def run(self, program: str, globals: str) -> tuple[int, str]:
        """Runs one program; see `world.wit` for what comes back."""
        # Where the paths of a program begin.
        os.chdir("/workspace")
        return main.run(program, globals)


preload.finish()
