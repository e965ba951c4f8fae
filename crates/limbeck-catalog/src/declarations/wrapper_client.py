import asyncio
import json
import os
from typing import Any, Dict, List, Optional

# The gateway. LIMBECK names another executable, LIMBECK_DIRECTORY the directory whose configuration it reads.
_COMMAND: List[str] = [os.environ["LIMBECK"]] if os.environ.get("LIMBECK") else ["COMMAND"]
_DIRECTORY: str = os.environ.get("LIMBECK_DIRECTORY") or "DIRECTORY"


async def call(tool: str, params: Dict[str, Any]) -> Any:
    # Calls a tool of the server. A tool that fails raises RuntimeError with its text.
    given = {name: value for name, value in params.items() if value is not None}
    words = [*_COMMAND, "call", "--json", "--", "SERVER", tool, json.dumps(given)]
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(*words, cwd=_DIRECTORY, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise RuntimeError(f"{_COMMAND[0]} could not be started: {error}; set LIMBECK to its path") from None
    out, err = await child.communicate()
    if not out.strip():
        raise RuntimeError(err.decode(errors="replace").strip() or f"{_COMMAND[0]} printed nothing")
    return unwrapped(json.loads(out))


def unwrapped(result: Any) -> Any:
    # What a result holds: its structured content, or else its text, as JSON where it is an object or a list.
    blocks = result.get("content") or []
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    if result.get("isError"):
        raise RuntimeError("\n".join(texts) or "the tool failed")
    if "structuredContent" in result:
        return result["structuredContent"]
    if not texts or len(texts) != len(blocks):
        return blocks or None
    text = "\n".join(texts)
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
