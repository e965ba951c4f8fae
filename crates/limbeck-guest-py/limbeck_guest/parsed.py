"""`json.loads` of a result, which is parsed already."""

import functools
import json
from typing import Any

from . import host
from .lazy import settle
from .record import text_in


def install() -> None:
    """Has `json.loads` give parsed values back, with a warning. To be called once, when the component is built."""
    parse = json.loads

    @functools.wraps(parse)
    def loads(s: Any, **options: Any) -> Any:
        value = settle(s)
        if not isinstance(value, (dict, list)):
            return parse(value, **options)
        text = text_in(value)
        if text is not None:
            try:
                parsed = parse(text, **options)
            except ValueError:
                # The text is no JSON, so the program meant the object.
                pass
            else:
                if isinstance(value, list):
                    host.warn("`json.loads` got the contents of a resource, and parsed its text; write `json.loads(result[0].text)`")
                    return parsed
                name = next(iter(value))
                host.warn(f"`json.loads` got an object, and parsed the text in its field; write `json.loads(result[{name!r}])`")
                return parsed
        host.warn("`json.loads` got a value that is parsed already, and gave it back; leave `json.loads` out")
        return value

    json.loads = loads
