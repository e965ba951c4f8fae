# ISO dates, differences and rounding.
from datetime import date, datetime, timedelta, timezone

now = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)
issues = tools.github.list_issues(owner="a", repo="b", per_page=5)["issues"]
for issue in issues:
    updated = datetime.fromisoformat(issue["updated_at"].replace("Z", "+00:00"))
    age = now - updated
    print(issue["number"], age.days, "days", f"{age.total_seconds() / 3600:.1f} h", "stale" if age > timedelta(days=30) else "fresh" if age > timedelta() else "future")
print(date(2026, 3, 1) - date(2025, 12, 25), date(2024, 2, 29).replace(year=2025, day=28), timedelta(hours=-5))
print(datetime.fromisoformat("2026-03-01T10:00:00Z").utcoffset(), now.isoformat(), now.timestamp())
