"""What a task left: files, repositories, the knowledge graph and the database, in a form that can be compared."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from world import Repository, World


def state_of(world: World) -> dict[str, Any]:
    """Everything but times and commit hashes, which hold times."""
    repositories = sorted(path.parent for path in world.files.rglob(".git"))
    return {
        "files": {str(path.relative_to(world.files)): _digest(path) for path in _files(world.files)},
        "repositories": {str(path.relative_to(world.files)): _repository(path) for path in repositories},
        "graph": _graph(world.root / "memory.jsonl"),
        "database": _database(world.root / "data.db"),
    }


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file() and ".git" not in path.parts)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _repository(path: Path) -> list[str]:
    git = Repository(path).git
    return [
        git("log", "--all", "--format=%s %T"),
        git("status", "--porcelain"),
        git("branch", "--list"),
        git("diff", "--cached", "--stat"),
    ]


def _graph(path: Path) -> list[Any]:
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted((json.loads(line) for line in lines), key=lambda record: json.dumps(record, sort_keys=True))


def _database(path: Path) -> list[str]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        # A server that starts makes an empty file, which is not a database yet.
        lines = list(database.iterdump())
        return [line for line in lines if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
