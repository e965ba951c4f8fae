# Formats people ask for.
from datetime import datetime, timezone

moment = datetime(2026, 2, 5, 7, 8, 9, 123456, tzinfo=timezone.utc)
for spec in ("%Y-%m-%d", "%d.%m.%y", "%A, %d %B %Y", "%I:%M %p", "%j", "%U", "%W", "%H%M%S.%f", "%z %Z", "%a %b %e", "%G-W%V-%u", "%c", "%x %X", "%%"):
    print(f"{spec:<14} {moment.strftime(spec)}")
print(f"{moment:%d/%m}", moment.ctime(), moment.isocalendar())
