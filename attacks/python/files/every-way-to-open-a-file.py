# attack: opens files of the host by every function of the library that takes a path
# property: S02
# input: {"file": "{{canary_file}}"}
# expect: value []
import importlib
import io
import os
import pathlib

reached = []


def module(name):
    return importlib.import_module(name)


def read(fd):
    return os.read(fd, 100) or 1 / 0


ways = {
    "open": lambda path: open(path, "rb").read(100),
    "io.FileIO": lambda path: io.FileIO(path).read(100),
    "io.open_code": lambda path: io.open_code(path).read(100),
    "_pyio": lambda path: module("_pyio").open(path, "rb").read(100),
    "os.open": lambda path: read(os.open(path, os.O_RDONLY)),
    "posix.open": lambda path: read(module("posix").open(path, 0)),
    "pathlib": lambda path: pathlib.Path(path).read_bytes(),
    "codecs": lambda path: module("codecs").open(path).read(100),
    "tokenize": lambda path: module("tokenize").open(path).read(100),
    "linecache": lambda path: module("linecache").getlines(path)[0],
    "fileinput": lambda path: next(iter(module("fileinput").input([path]))),
    "shutil": lambda path: open(module("shutil").copy(path, "/tmp/copied"), "rb").read(100),
    "os.link": lambda path: os.link(path, "/tmp/linked") or open("/tmp/linked", "rb").read(100),
    "os.rename": lambda path: os.rename(path, "/tmp/renamed") or open("/tmp/renamed", "rb").read(100),
    "os.stat": lambda path: os.stat(path),
    "os.access": lambda path: os.access(path, os.R_OK) or 1 / 0,
    "os.scandir": lambda path: list(os.scandir(os.path.dirname(path))) or 1 / 0,
    "glob": lambda path: module("glob").glob(path[:-1] + "*")[0],
    "os.walk": lambda path: next(os.walk(os.path.dirname(path))),
    "os.statvfs": lambda path: os.statvfs(path),
    "sqlite3": lambda path: module("sqlite3").connect(path).execute("select 1").fetchall(),
    "dbm": lambda path: module("dbm").open(path, "r"),
    "zipfile": lambda path: module("zipfile").ZipFile(path, "a"),
    "tarfile": lambda path: module("tarfile").open(path),
    "logging": lambda path: module("logging").FileHandler(path, delay=False),
    "configparser": lambda path: module("configparser").ConfigParser(strict=False).read(path)[0],
    "zoneinfo": lambda path: module("zoneinfo").ZoneInfo.from_file(open(path, "rb")),
    "get_data": lambda path: module("importlib.machinery").SourceFileLoader("x", path).get_data(path),
    "mimetypes": lambda path: module("mimetypes").init([path]) or open(path),
    "runpy": lambda path: module("runpy").run_path(path),
    "tracemalloc": lambda path: module("tracemalloc").Snapshot.load(path),
    "truncate": lambda path: os.truncate(path, 0) or 1,
    "unlink": lambda path: os.unlink(path) or 1,
    "mkfifo": lambda path: os.mkfifo(path + ".fifo") or 1,
}
paths = [
    input["file"], "/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/maps", "/proc/1/cmdline", "/proc/self/fd/0", "/dev/mem",
    "/dev/urandom", "/dev/fd/3", "/dev/tty", "/sys/kernel/notes", "/usr/lib/os-release", "/root/.ssh/id_rsa", "/var/run/docker.sock",
]
for path in paths:
    for how, way in ways.items():
        try:
            reached.append(f"{how} {path}: {way(path)!r:.60}")
        except BaseException:
            pass
if set(os.listdir("/")) - {"tmp", "workspace"}:
    reached.append(os.listdir("/"))
return reached
