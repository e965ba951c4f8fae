# Unix times from a tool, in seconds and milliseconds, and comparisons of aware and naive times.
from datetime import datetime, timedelta, timezone

messages = tools.slack.get_channel_history(channel="#general", limit=3)["messages"]
for m in messages:
    at = datetime.fromtimestamp(float(m["ts"]), tz=timezone.utc)
    print(at.isoformat(timespec="milliseconds"), at.replace(tzinfo=None) == datetime.fromtimestamp(float(m["ts"]), timezone.utc).replace(tzinfo=None))
print(datetime.fromtimestamp(0, timezone(timedelta(hours=5, minutes=45), "NPT")))
try:
    datetime(2026, 1, 1) < datetime(2026, 1, 1, tzinfo=timezone.utc)
except TypeError as e:
    print(e)
print(datetime.max.year, datetime.min, timedelta.max.days, timedelta(microseconds=1).resolution)
