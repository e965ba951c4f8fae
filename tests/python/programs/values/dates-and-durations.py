# Dates, times and durations come back as ISO 8601.
from datetime import date, datetime, time, timedelta, timezone

return {
    "day": date(2026, 3, 1),
    "moment": datetime(2026, 3, 1, 10, 30, tzinfo=timezone.utc),
    "naive": datetime(2026, 3, 1, 10, 30, 0, 500),
    "time": time(9, 5),
    "spans": [timedelta(days=1, hours=2, minutes=30), timedelta(seconds=-0.5), timedelta(), timedelta(milliseconds=1500)],
}
