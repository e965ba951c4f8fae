# Orders by ISO week, missing weeks filled.
from collections import defaultdict
from datetime import date, timedelta

rows = tools.database.query(sql="select placed, total from orders order by placed")["rows"]
weeks = defaultdict(float)
for placed, total in rows:
    year, week, _ = date.fromisoformat(placed).isocalendar()
    weeks[year, week] += float(total)
first, last = (date.fromisoformat(rows[n][0]) for n in (0, -1))
day = first - timedelta(days=first.weekday())
while day <= last:
    year, week, _ = day.isocalendar()
    print(f"{year}-W{week:02} {weeks.get((year, week), 0):9.2f}")
    day += timedelta(weeks=1)
