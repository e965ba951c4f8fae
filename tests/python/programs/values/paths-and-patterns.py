# Paths, ids, addresses, patterns and types.
import ipaddress
import re
import uuid
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

[Path("/data/x.txt"), PurePosixPath("a/b"), uuid.UUID(int=7), ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("10.0.0.0/8"), re.compile(r"\d+"), ZoneInfo("Europe/Berlin"), int]
