# A log file with rotation of levels, read back.
import logging
from pathlib import Path

logger = logging.getLogger("job")
handler = logging.FileHandler("/tmp/corpus-job.log", encoding="utf-8")
handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
logger.addHandler(handler)
logger.setLevel(logging.INFO)
for page in tools.wiki.list_pages()["pages"]:
    logger.info("page %s", page)
try:
    tools.wiki.get_page(slug="no" + "pe")
except ToolError:
    logger.warning("missing ☕")
handler.close()
lines = Path("/tmp/corpus-job.log").read_text(encoding="utf-8").splitlines()
print(len(lines), lines[0], lines[-1])
