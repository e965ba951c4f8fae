# attack: calls tools outside of its patterns by coroutines, in groups and without waiting for them
# property: S40
# tools: ["probe.noted", "probe.echo"]
# expect: value ["denied", "denied", "denied", 0]
import asyncio
import uuid

mark = f"denied {uuid.uuid4()}"
name = "note"
out = []
for start in [lambda: tools.probe[name]({"mark": mark}), lambda: acall_tool("mcp__probe__" + name, {"mark": mark}), lambda: tools.probe[name].raw({"mark": mark})]:
    got = await asyncio.gather(start(), return_exceptions=True)
    out.append(getattr(got[0], "code", "sent"))
pending = [tools.probe[name]({"mark": mark}) for _ in range(20)]
await asyncio.sleep(0.05)
del pending
return [*out, (await tools.probe.noted({"mark": mark})).times]
