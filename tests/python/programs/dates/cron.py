# The next runs of simple schedules.
from datetime import datetime, timedelta

def matches(field, value):
    if field == "*":
        return True
    if field.startswith("*/"):
        return value % int(field[2:]) == 0
    return any(int(a) <= value <= int(b or a) for a, _, b in (part.partition("-") for part in field.split(",")))

def next_runs(spec, start, count):
    minute, hour, day, month, weekday = spec.split()
    moment = start.replace(second=0, microsecond=0)
    while count:
        moment += timedelta(minutes=1)
        if all(map(matches, (minute, hour, day, month, weekday), (moment.minute, moment.hour, moment.day, moment.month, moment.isoweekday() % 7))):
            count -= 1
            yield moment

for spec in ("*/20 9-10 * * *", "0 0 1 * *", "30 17 * * 1,3"):
    print(spec, [f"{m:%m-%d %H:%M}" for m in next_runs(spec, datetime(2026, 2, 27, 9, 50), 3)])
