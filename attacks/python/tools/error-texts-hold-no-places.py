# attack: provokes every refusal and failure of the gateway and the prelude, for paths, places in sources and other servers' secrets
# property: S55
# expect: value []
import re

texts = []


def take(f):
    try:
        f()
    except BaseException as error:
        texts.append(" ".join(map(repr, [error, getattr(error, "__dict__", None), getattr(error, "hint", None)])))


missing, customer, orders, echo = "nothing", "get_customer", "list_orders", "echo"
deep = "[" * 200 + "]" * 200
take(lambda: tools.shop[customer]())
take(lambda: tools.shop[orders](status=1))
take(lambda: tools[missing].x())
take(lambda: tools.shop[missing]())
take(lambda: tools.probe.say(result="not json"))
take(lambda: tools.probe.say(result="null"))
take(lambda: tools.probe.fail(message=""))
take(lambda: store.get("x" * 300))
take(lambda: store.set("big", "x" * (2 << 20)))
take(lambda: search("x" * 5_000))
take(lambda: describe("nobody", missing))
take(lambda: call_tool("a" * 2_000))
take(lambda: tools.probe.echo({"v": __import__("json").loads(deep)}))
take(lambda: tools.probe[echo](1, 2, 3))
take(lambda: tools.probe.echo({"v": object()}))
take(lambda: open("/etc/passwd"))
take(lambda: open("/tmp/" + "x" * 10_000, "w"))
take(lambda: __import__("subprocess").run(["id"]))
take(lambda: __import__("socket").socket())
take(lambda: __import__("ctypes"))
take(lambda: __import__("numpy"))
place = re.compile(r"/(root|home|usr|proc|0|work)\b|/limbeck|\.rs\b|cargo|src/|thread '|panicked|Some\(|Err\(|PROBE_TOKEN|RawValue|serde")
return [text for text in texts if place.search(text)] + ([] if len(texts) > 15 else [len(texts)])
