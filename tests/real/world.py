"""The world of one test: a home of its own, files, and the servers that work on them.

Nothing of the machine's user is read or written: `HOME` is a temporary directory and the environment
is made from nothing. Limbeck starts the servers of `World.servers`, by absolute
path, so no package runner and no network take part.
"""

import json
import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
LIMBECK = Path(os.environ.get("LIMBECK_BIN", REPOSITORY / "target/debug/limbeck"))
TOOLS = REPOSITORY / ".tools"

# Variable in the environment of every server of a world; it identifies their processes.
MARK = "LIMBECK_TEST_WORLD"

# Longest wait for anything that should happen at once; reached only when it does not happen.
PATIENCE_S = 90.0


def program(name: str) -> str:
    """The absolute path of a program of the machine."""
    path = shutil.which(name)
    assert path is not None, f"`{name}` is not installed"
    return os.path.realpath(path) if name == "node" else path


def npm_server(package: str) -> list[str]:
    """The command line of a server that `npm ci` installed."""
    directory = TOOLS / "node/node_modules/@modelcontextprotocol" / package
    script = directory / "dist/index.js"
    assert script.is_file(), f"{script} is missing; `cargo xtask test` installs it"
    return [program("node"), str(script)]


def python_server(script: str) -> list[str]:
    """The command line of a server that `pip` installed."""
    path = TOOLS / "venv/bin" / script
    assert path.is_file(), f"{path} is missing; `cargo xtask test` installs it"
    return [str(path)]


def entry(command: list[str], *args: str, **env: str) -> dict[str, Any]:
    """An entry of `mcpServers`."""
    return {"command": command[0], "args": [*command[1:], *args], "env": env}


@dataclass(frozen=True)
class World:
    """Directories of one or more gateways, and what runs in them."""

    root: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for directory in (self.home, self.files, self.project):
            directory.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        """`HOME` of the gateway."""
        return self.root / "home"

    @property
    def files(self) -> Path:
        """What the filesystem server may touch, and where repositories are."""
        return self.root / "files"

    @property
    def project(self) -> Path:
        """Working directory of the gateway."""
        return self.root / "project"

    @property
    def log(self) -> Path:
        """Standard error of every gateway of this world."""
        return self.root / "stderr.log"

    def environment(self, **more: str) -> dict[str, str]:
        """The whole environment of a gateway."""
        directories = {os.path.dirname(program(name)) for name in ("node", "git")}
        path = os.pathsep.join([*sorted(directories), "/usr/bin", "/bin"])
        return {"HOME": str(self.home), "PATH": path, **more}

    def servers(self) -> dict[str, dict[str, Any]]:
        """All six servers, as `mcpServers`."""
        mark = {MARK: self.mark}
        memory = {"MEMORY_FILE_PATH": str(self.root / "memory.jsonl"), **mark}
        thinking = {"DISABLE_THOUGHT_LOGGING": "true", **mark}
        time = ("--local-timezone", "UTC")
        return {
            "filesystem": entry(npm_server("server-filesystem"), str(self.files), **mark),
            "memory": entry(npm_server("server-memory"), **memory),
            "everything": entry(npm_server("server-everything"), **mark),
            "sequential-thinking": entry(npm_server("server-sequential-thinking"), **thinking),
            "git": entry(python_server("mcp-server-git"), **mark),
            "time": entry(python_server("mcp-server-time"), *time, **mark),
        }

    def config(self, servers: dict[str, Any], name: str = "servers.json") -> Path:
        """Writes a configuration file and gives its path."""
        path = self.root / name
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    def trust(self, config: Path) -> Path:
        """Writes a policy by which the servers of a configuration file say truly what only reads, and gives its path."""
        names = list(json.loads(config.read_text())["mcpServers"])
        path = config.with_suffix(".trust.toml")
        path.write_text('[policy]\npreset = "observe"\n' f"trust_annotations = {json.dumps(names)}\n")
        return path

    def only(self, *names: str) -> dict[str, Any]:
        """Some of the servers."""
        servers = self.servers()
        return {name: servers[name] for name in names}

    def limbeck(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the binary to its end."""
        return subprocess.run(
            [LIMBECK, *args],
            env=self.environment(),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def limbeck_json(self, *args: str) -> Any:
        """What a command that ends well prints, as JSON; a listing of servers ends with 1 when one of them failed."""
        ran = self.limbeck(*args, "--json")
        well = (0, 1) if args[0] == "tools" else (0,)
        assert ran.returncode in well, f"exit {ran.returncode}: {ran.stderr}"
        return json.loads(ran.stdout)

    def repository(self, name: str) -> "Repository":
        """A new, empty git repository below `files`."""
        repository = Repository(self.files / name)
        repository.path.mkdir()
        repository.git("init", "--quiet", "--initial-branch", "main")
        repository.git("config", "user.name", "Ada")
        repository.git("config", "user.email", "ada@example.org")
        return repository


@dataclass(frozen=True)
class Repository:
    """A git repository made with the git command line."""

    path: Path

    def git(self, *args: str) -> str:
        """Runs git here and gives what it prints."""
        no_config = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        ran = subprocess.run(
            [program("git"), *args],
            env={"PATH": os.environ["PATH"], **no_config},
            cwd=self.path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        return ran.stdout

    def commit(self, file: str, content: str, message: str) -> str:
        """Commits one file and gives the hash."""
        (self.path / file).write_text(content)
        self.git("add", file)
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD").strip()
