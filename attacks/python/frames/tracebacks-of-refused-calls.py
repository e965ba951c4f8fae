# attack: climbs the traceback of a refused call for what the gateway or the prelude know of it
# property: S55
# tools: ["probe.echo"]
# stdout: frames
# expect: value "told"
import traceback

names = [("probe", "note"), ("nothing", "x"), ("probe", "nothing")]
for server, tool in names:
    try:
        tools[server][tool]({})
    except ToolError as error:
        frame = error.__traceback__
        count = 0
        while frame is not None:
            count += 1
            for name, value in frame.tb_frame.f_locals.items():
                print(name, type(value).__name__, repr(value)[:200])
            frame = frame.tb_next
        print("frames", count, error.__cause__, error.__context__, error.args, vars(error))
try:
    open("/etc/passwd")
except OSError as error:
    print(error, error.filename, error.__traceback__.tb_frame.f_code.co_name)
return "told"
