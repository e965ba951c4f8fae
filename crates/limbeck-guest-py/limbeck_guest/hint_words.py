"""Texts of hints: replacements for modules, names and operations that are not available."""

_NETWORK = "there is no network here; call a tool of a server instead: `tools.server.tool(...)`, found with `search(\"...\")`"
_NO_NUMPY = (
    "numpy, pandas and packages built on them are not available; lists, `statistics`, `itertools`, `csv` and "
    "`collections` can do most of their work"
)
_THREADS = (
    "there are no processes or threads here; `await asyncio.gather(...)` makes calls of tools at the same time, and "
    "`threading.Thread` and `concurrent.futures.ThreadPoolExecutor` run functions one after another"
)
_DATABASE = "there is no network here; a tool of a server may reach the database: `search(\"query database\")`"
_MODEL = "a program cannot ask a model; `return` the data and answer yourself"
_ARCHIVE = "use zlib, gzip, zipfile or tarfile; they work without bzip2 and xz"

FILES = "files are only in /tmp and /workspace, in memory; "
FIND_FILE_TOOL = "a tool of a server may read others: `search(\"read file\")`"
TEXT_IS_TEXT = (
    "the value before the dot or bracket is text: use it as it is, or `json.loads(text)` if it is JSON. Results are "
    "unwrapped already; `tools.server.tool.raw(...)` gives the CallToolResult"
)
NOT_CALLABLE = (
    "the value called here is not a function; `input` is the program's argument, and a result is plain data"
)
_AWAIT = "the call before the dot or bracket was not awaited; write `await` before the call"

MODULES = {
    **dict.fromkeys(
        "requests httpx aiohttp urllib3 websockets websocket httplib2 pycurl paramiko grpc scrapy selenium playwright".split(),
        _NETWORK,
    ),
    **dict.fromkeys(
        "numpy pandas scipy sklearn matplotlib seaborn plotly polars pyarrow torch tensorflow statsmodels sympy networkx".split(),
        _NO_NUMPY,
    ),
    **dict.fromkeys("multiprocessing joblib dask ray celery gevent eventlet greenlet".split(), _THREADS),
    **dict.fromkeys("psycopg2 psycopg asyncpg pymysql MySQLdb pymongo redis sqlalchemy boto3 elasticsearch".split(), _DATABASE),
    **dict.fromkeys("openai anthropic langchain transformers litellm google cohere".split(), _MODEL),
    **dict.fromkeys("bz2 lzma zstandard brotli".split(), _ARCHIVE),
    **dict.fromkeys("ctypes cffi mmap fcntl resource pwd grp termios".split(), "there is no operating system here; do it in plain Python"),
    "ssl": _NETWORK,
    "yaml": "`json` is here, and `configparser` and `tomllib` read other formats; simple YAML is quickly split by lines",
    "toml": "use `tomllib`",
    "tomli": "use `tomllib`",
    "bs4": "use `html.parser` or `re`; a tool of a server may fetch pages as text",
    "lxml": "use `xml.etree.ElementTree`",
    "dateutil": "use `datetime.fromisoformat` and `datetime.timedelta`",
    "arrow": "use `datetime` and `zoneinfo`",
    "pendulum": "use `datetime` and `zoneinfo`",
    "pytz": "use `zoneinfo.ZoneInfo(\"Europe/Berlin\")`",
    "pydantic": "use `dataclasses`",
    "attr": "use `dataclasses`",
    "attrs": "use `dataclasses`",
    "marshmallow": "use `dataclasses`",
    "orjson": "use `json`",
    "ujson": "use `json`",
    "simplejson": "use `json`",
    "regex": "use `re`",
    "tabulate": "use `str.ljust` and `print`; or return the rows",
    "rich": "use `print`; or return the data",
    "tqdm": "loop over the items themselves; progress bars are not shown",
    "jinja2": "use f-strings or `string.Template`",
    "jsonschema": "the gateway checks the arguments of tools; check other data in Python",
    "dotenv": "there are no environment variables here; the program's arguments are in `input`",
    "PIL": "there are no image libraries here; a tool of a server may do it",
    "cv2": "there are no image libraries here; a tool of a server may do it",
    "openpyxl": "write CSV with `csv`; a tool of a server may read spreadsheets",
    "pytest": "use `assert`",
    "fastmcp": "tools are called as `tools.server.tool(...)`",
    "tenacity": "use a loop: `for attempt in range(3): try: ...`; `ToolError.retryable` says whether it may help",
    "trio": "use `asyncio`",
    "anyio": "use `asyncio`",
    "uvloop": "the event loop is Limbeck's own; leave it out",
    "pip": "packages cannot be installed; the standard library is available",
    "user_tools": "functions kept with `save_tool` are found by their names, without an import",
}

NAMES = {
    "fetch": _NETWORK,
    "requests": _NETWORK,
    "httpx": _NETWORK,
    "axios": _NETWORK,
    "np": _NO_NUMPY,
    "pd": _NO_NUMPY,
    "console": "use `print`",
    "null": "in Python it is `None`",
    "undefined": "in Python it is `None`",
    "true": "in Python it is `True`",
    "false": "in Python it is `False`",
    "NaN": "in Python it is `float(\"nan\")`",
    "Infinity": "in Python it is `float(\"inf\")`",
    "JSON": "use `json.loads` and `json.dumps`",
    "Math": "use `math`",
    "Date": "use `datetime.datetime.now()`",
    "Promise": "use `asyncio.gather`",
    "Object": "use `dict`: `value.keys()`, `value.items()`",
    "Array": "use `list`",
    "String": "use `str`",
    "Number": "use `float` or `int`",
    "Map": "use `dict`",
    "Set": "use `set`",
    "parseInt": "use `int`",
    "parseFloat": "use `float`",
    "setTimeout": "use `await asyncio.sleep(seconds)`",
    "require": "use `import`; the standard library is available",
    "process": "there is no process here; the arguments are in `input`, `return` ends the program",
    "module": "`return` the result",
    "exports": "`return` the result",
    "window": "this is not a browser; only the names of the language and `tools` exist",
    "document": "this is not a browser; a tool of a server may fetch or parse a page: `search(\"...\")`",
    "callMCPTool": "in Python it is `call_mcp_tool`, or `tools.server.tool(...)`",
    "searchTools": "in Python it is `search_tools`, or `search(\"...\")`",
    "discoverMCPTools": "in Python it is `discover_mcp_tools`",
    "getToolSchema": "in Python it is `get_tool_schema`, or `describe(\"server.tool\")`",
    "listServers": "in Python it is `servers()`",
    "list_servers": "it is `servers()`",
    "input": "a program cannot ask the user; its arguments are in `input`",
    "args": "the program's arguments are in `input`",
    "arguments": "the program's arguments are in `input`",
    "display": "use `print`, or let the last line be the value",
    "get_ipython": "this is not a notebook; let the last line be the value",
    "client": "tools are called as `tools.server.tool(...)`",
    "session": "tools are called as `tools.server.tool(...)`",
    "mcp": "tools are called as `tools.server.tool(...)`; or `from mcp import runtime`",
    "sleep": "add `import time` and use `time.sleep(seconds)`",
}

IMPORTS = {
    **{name: f"from collections import {name}" for name in "defaultdict Counter OrderedDict deque namedtuple ChainMap".split()},
    **{name: f"from datetime import {name}" for name in "datetime date timedelta timezone".split()},
    **{name: f"from dataclasses import {name}" for name in "dataclass asdict field".split()},
    **{name: f"from typing import {name}" for name in "Any Optional Union List Dict Tuple Set Callable Iterable NamedTuple TypedDict Literal".split()},
    **{name: f"from itertools import {name}" for name in "chain groupby islice combinations permutations product accumulate".split()},
    **{name: f"from functools import {name}" for name in "reduce partial lru_cache wraps cache".split()},
    **{name: f"from statistics import {name}" for name in "mean median stdev".split()},
    **{name: f"from math import {name}" for name in "sqrt ceil floor log pi".split()},
    **{name: f"from enum import {name}" for name in "Enum IntEnum StrEnum Flag auto".split()},
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "Path": "from pathlib import Path",
    "ZoneInfo": "from zoneinfo import ZoneInfo",
    "StringIO": "from io import StringIO",
    "BytesIO": "from io import BytesIO",
    "uuid4": "from uuid import uuid4",
    "pprint": "from pprint import pprint",
    "urlparse": "from urllib.parse import urlparse",
    "dedent": "from textwrap import dedent",
}

GLOBAL_NAMES = (
    "tools search describe servers store budget input call_tool acall_tool ToolError MCPError call_mcp_tool "
    "discover_mcp_tools get_tool_schema search_tools llm runtime mcp_servers save_tool"
).split()

_ARTIFACT = (
    "an artifact is read with `json()`, `text()`, `bytes()` or `select(path)`, `info()` describes it, and "
    "`for item in artifact` gives its items"
)
OF_OBJECT = {
    "NoneType": "the value before the dot is None: a field the tool did not return, or a function without `return`; print it to see",
    "coroutine": _AWAIT,
    "Task": _AWAIT,
    "Future": _AWAIT,
    "builtin_function_or_method": "the value before the dot is a method, because the object has no field of that name; call it, or print the object",
    "dict": "a dict of Python has keys and no attributes: `value[\"name\"]`; results of tools have both",
    "Artifact": _ARTIFACT,
    "tuple": "the value before the dot is a tuple, as `.items()` of an object gives for each field; a field `items` is read as `result[\"items\"]`",
}

_METHOD = "this name is a method, because the object has no field of that name; call it, or print the object to see its fields"
TYPE_ERRORS = (
    ("'Artifact'", _ARTIFACT),
    ("async_generator", "it is an async generator; write `[item async for item in f(...)]` or `async for item in f(...)`"),
    ("requires an object with __aiter__", "a call has one answer, with all of its items; write `for item in await ...`"),
    ("offset-naive and offset-aware", "a time with a zone needs another with one: `datetime(2026, 3, 1, tzinfo=timezone.utc)`"),
    ("'builtin_function_or_method' object is not", _METHOD),
    ("'method' object is not", _METHOD),
    ("'coroutine' object is not", _AWAIT),
    ("'NoneType' object is not subscriptable", OF_OBJECT["NoneType"].replace("dot", "bracket")),
    ("'NoneType' object is not iterable", "the value in the loop is None: a field the tool did not return; print it to see"),
    ("string indices must be integers", TEXT_IS_TEXT),
    ("list indices must be integers", "the value before the bracket is a list; take an item of it, or loop over it"),
    ("the JSON object must be str", "the value is parsed already; use it as it is"),
    ("is not JSON serializable", "`return` renders dates, sets, dataclasses and the like by itself; in `json.dumps`, add `default=str`"),
    ("can't be used in 'await' expression", "this is already a value and not a coroutine; leave `await` out"),
)
