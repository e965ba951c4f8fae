# The home directory exists and can be written to.
import os
from pathlib import Path

home = Path.home()
note = Path("~").expanduser() / "corpus-note.txt"
print(home.is_dir(), os.path.expanduser("~/x") == str(home / "x"), os.access(home, os.W_OK), note.name)
