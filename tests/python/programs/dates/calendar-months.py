# Month arithmetic, business days and quarters.
import calendar
from datetime import date, timedelta

def add_months(day, months):
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))

def business_days(start, end):
    days = (end - start).days
    return sum(1 for n in range(days) if (start + timedelta(n)).weekday() < 5)

start = date(2026, 1, 31)
print([add_months(start, n).isoformat() for n in (1, 2, 13, -2)])
print(business_days(date(2026, 3, 1), date(2026, 4, 1)), calendar.isleap(2028))
print(calendar.month(2026, 2))
for deal in tools.crm.list_deals(stage="won")["deals"]:
    close = date.fromisoformat(deal["close_date"])
    print(deal["id"], f"{close.year}Q{(close.month - 1) // 3 + 1}", calendar.day_name[close.weekday()])
