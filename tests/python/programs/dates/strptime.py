# Texts in several formats to dates.
from datetime import datetime

def parse(text):
    for spec in ("%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y", "%Y-%m-%dT%H:%M:%S%z", "%d %B %Y %H:%M"):
        try:
            return datetime.strptime(text, spec)
        except ValueError:
            continue
    return None

for text in ("2026-03-01", "28/02/2026", "Jan 5, 2026", "2026-03-01T10:00:00+0200", "1 March 2026 23:59", "2026-02-30", "soon"):
    print(f"{text:<26}", parse(text))
