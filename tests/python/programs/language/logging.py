# logging: levels, formats, handlers, loggers in a tree, exceptions.
import io
import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("sync.github")
log.debug("not shown")
log.info("fetched %d issues", tools.github.list_issues(owner="a", repo="b")["total"])
try:
    tools.flaky.fail(message="down")
except ToolError:
    log.error("call failed", exc_info=False)
    log.warning("retrying in %.1f s", 0.5)
stream = io.StringIO()
handler = logging.StreamHandler(stream)
handler.setFormatter(logging.Formatter("{levelname[0]} {message}", style="{"))
child = logging.getLogger("sync.github.issues"); child.addHandler(handler); child.propagate = False
child.setLevel("DEBUG"); child.debug("quiet")
print(repr(stream.getvalue()), logging.getLevelName(40), child.parent.name, log.isEnabledFor(logging.DEBUG))
logging.getLogger().handlers[0].setStream(sys.stderr)
logging.warning("to stderr")
