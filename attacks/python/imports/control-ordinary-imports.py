# control: the library a program is meant to use is there and works, so what is missing below is missing on purpose
# property: S14
# expect: value [[1], "a-b", "0.3", "2024-07-01T10:00:00+02:00", 3, "x,y\r\n", 5.0]
import csv
import datetime
import decimal
import io
import itertools
import json
import re
import statistics
import zoneinfo

text = io.StringIO()
csv.writer(text).writerow(["x", "y"])
summer = datetime.datetime(2024, 7, 1, 8, tzinfo=datetime.timezone.utc)
return [
    json.loads("[1]"),
    re.sub(r"\s+", "-", "a  b"),
    str(decimal.Decimal("0.1") + decimal.Decimal("0.2")),
    summer.astimezone(zoneinfo.ZoneInfo("Europe/Berlin")).isoformat(),
    len(list(itertools.combinations("abc", 2))),
    text.getvalue(),
    statistics.fmean([4, 6]),
]
