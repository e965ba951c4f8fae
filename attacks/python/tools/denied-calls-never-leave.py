# attack: writes through a tool that its patterns do not allow, and looks in the next call whether it arrived
# property: S40
# tools: ["probe.noted"]
# expect: value ["denied", "denied", "denied", 0]
import uuid

mark = f"denied {uuid.uuid4()}"
name = "note"
out = []
for call in [lambda: tools.probe[name](mark=mark), lambda: tools.probe[name].raw(mark=mark), lambda: call_tool("mcp__probe__" + name, mark=mark)]:
    try:
        call()
        out.append("sent")
    except ToolError as error:
        out.append(error.code)
return [*out, tools.probe.noted({"mark": mark}).times]
