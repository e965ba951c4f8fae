# Meeting times in several zones, across a clock change.
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

zones = {"Berlin": "Europe/Berlin", "New York": "America/New_York", "Kathmandu": "Asia/Kathmandu"}
for event in tools.calendar.list_events(start="2026-03-01", end="2026-03-30")["events"]:
    start, end = (datetime.fromisoformat(event[key]) for key in ("start", "end"))
    local = " | ".join(f"{city} {start.astimezone(ZoneInfo(zone)):%a %H:%M}" for city, zone in zones.items())
    print(f"{event['title']:<14} {local} ({(end - start) // timedelta(minutes=1)} min)")

before = datetime(2026, 3, 29, 1, 59, tzinfo=ZoneInfo("Europe/Berlin"))
after = (before.astimezone(ZoneInfo("UTC")) + timedelta(minutes=1)).astimezone(ZoneInfo("Europe/Berlin"))
print(before.isoformat(), after.isoformat(), before.tzname(), after.tzname(), before.dst(), after.dst())
twice = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
print(twice.utcoffset(), twice.replace(fold=1).utcoffset())
