"""Imports the standard library and reads the time zones, so that a program finds them in memory.

There is no file system with modules when a program runs. What is not imported here does not exist.
"""

import encodings
import gc
import importlib
import importlib.abc
import io
import os
import pkgutil
import re
import sys
import zoneinfo
from types import ModuleType

import tzdata

# Modules that open windows, talk to terminals or processes, belong to other systems, print when
# they are imported, or build Python itself.
_LEFT_OUT = re.compile(
    r"antigravity|curses|ctypes|ensurepip|idlelib|lib2to3|msvcrt|multiprocessing|nt|pty|pydoc_data|"
    r"test|this|tkinter|tty|turtle|turtledemo|venv|winreg|winsound|_android_support|"
    r"_apple_support|_ios_support|_pyrepl|__main__"
)

# Parts of packages that programs import by their own name and the package does not import itself.
_PARTS = """
    asyncio.taskgroups collections.abc concurrent.futures.thread concurrent.interpreters
    compression.gzip compression.zlib
    email.mime.application email.mime.base email.mime.image email.mime.multipart email.mime.text
    email.parser email.policy email.utils encodings.idna encodings.punycode
    html.entities html.parser http.client http.cookies http.server
    importlib.metadata importlib.resources importlib.util json.tool
    logging.config logging.handlers os.path sysconfig
    unittest.mock urllib.error urllib.parse urllib.request urllib.response urllib.robotparser
    wsgiref.handlers wsgiref.headers wsgiref.util xml.dom.minidom xml.etree.ElementInclude xml.etree.ElementTree
    xml.sax xml.sax.handler xml.sax.saxutils xmlrpc.client zipfile zipimport
""".split()

# Text encodings that data of today still comes in, besides the Unicode ones.
_CODECS = re.compile(
    r"ascii|base64_codec|big5|bz2_codec|charmap|cp125[0-8]|cp437|cp850|euc_jp|euc_kr|gb18030|gb2312|gbk|"
    r"hex_codec|idna|iso8859_\d+|koi8_r|koi8_u|latin_1|mac_roman|palmos|punycode|quopri_codec|raw_unicode_escape|rot_13|"
    r"shift_jis|shift_jisx0213|undefined|unicode_escape|utf_.*|uu_codec|zlib_codec"
)


def _import(name: str) -> None:
    """Imports a module that may depend on something this system does not have."""
    try:
        importlib.import_module(name)
    except ImportError:
        pass


def _import_everything() -> None:
    for name in sorted(sys.stdlib_module_names):
        if not _LEFT_OUT.fullmatch(name):
            _import(name)
    for name in _PARTS:
        _import(name)
    for module in pkgutil.iter_modules(encodings.__path__):
        if _CODECS.fullmatch(module.name):
            _import(f"encodings.{module.name}")


def _read_zones() -> dict[str, bytes]:
    root = os.path.join(os.path.dirname(tzdata.__file__), "zoneinfo")
    zones = {}
    for directory, _, files in os.walk(root):
        for file in files:
            path = os.path.join(directory, file)
            with open(path, "rb") as stream:
                data = stream.read()
            if data.startswith(b"TZif"):
                zones[os.path.relpath(path, root)] = data
    return zones


_import_everything()
_ZONES = _read_zones()


def _load_zone(key: str) -> io.BytesIO:
    try:
        return io.BytesIO(_ZONES[key])
    except KeyError:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None


def _available_zones() -> set[str]:
    return set(_ZONES)


def finish() -> None:
    """Leaves nothing of the build behind. To be called last, when everything is imported."""
    zoneinfo._common.load_tzdata = _load_zone
    zoneinfo.available_timezones = _available_zones
    # Directories of the build, and what was found in them.
    sys.path[:] = []
    sys.path_importer_cache.clear()
    os.environ.clear()
    gc.collect()
    # What exists now stays: the collector need not walk it, nor write to its pages.
    gc.freeze()
