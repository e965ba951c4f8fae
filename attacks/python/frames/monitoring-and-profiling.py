# attack: watches every call, line and return of the prelude, and raises in the middle of each
# property: S34
# expect: contained
import sys

count = 0


def fail(*args):
    global count
    count += 1
    if count > 50:
        raise RuntimeError(f"raised at event {count}")


sys.setprofile(fail)
monitoring = sys.monitoring
monitoring.use_tool_id(3, "attack")
monitoring.register_callback(3, monitoring.events.PY_START, fail)
monitoring.register_callback(3, monitoring.events.RAISE, fail)
monitoring.set_events(3, monitoring.events.PY_START | monitoring.events.RAISE)
name = "echo"
return getattr(tools.probe, name)({"a": 1}).text
