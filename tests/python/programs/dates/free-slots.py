# Free time between events in one zone.
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

berlin = ZoneInfo("Europe/Berlin")
events = [e for e in tools.calendar.list_events(start="2026-03-02", end="2026-03-02")["events"]]
busy = sorted((datetime.fromisoformat(e["start"]).astimezone(berlin), datetime.fromisoformat(e["end"]).astimezone(berlin)) for e in events)
day = datetime(2026, 3, 2, tzinfo=berlin)
cursor, closing = datetime.combine(day, time(9), berlin), datetime.combine(day, time(18), berlin)
free = []
for start, end in busy:
    if start > cursor:
        free.append((cursor, start))
    cursor = max(cursor, end)
if cursor < closing:
    free.append((cursor, closing))
for start, end in free:
    print(f"{start:%H:%M}-{end:%H:%M} {end - start}")
sum(((e - s) for s, e in free), timedelta()).total_seconds() / 3600
