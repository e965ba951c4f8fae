# `Path.walk`, `datetime.UTC`, `calendar.Month`.
# reference: 3.12
import calendar
import tempfile
from datetime import UTC, datetime
from pathlib import Path

with tempfile.TemporaryDirectory() as directory:
    root = Path(directory)
    (root / "a").mkdir()
    (root / "a" / "x.txt").write_text("x")
    print([(p.relative_to(root).as_posix(), dirs, files) for p, dirs, files in root.walk()])
print(datetime(2026, 3, 1, tzinfo=UTC).isoformat(), calendar.Month.MARCH.name, calendar.Day.SUNDAY)
