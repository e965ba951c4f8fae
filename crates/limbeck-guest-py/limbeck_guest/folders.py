"""Folders of the file system in memory that a program may use."""

import os
from typing import Any

# Temporary files, and the folder a program starts in.
FOLDERS = ("/tmp", "/workspace")
_CURRENT = FOLDERS[1]


def is_outside(path: Any) -> bool:
    """Whether a path leads out of the folders."""
    if isinstance(path, bytes):
        path = path.decode("utf-8", "replace")
    if not isinstance(path, str):
        return False
    whole = os.path.normpath(os.path.join(_CURRENT, path))
    return not any(whole == folder or whole.startswith(f"{folder}/") for folder in FOLDERS)
