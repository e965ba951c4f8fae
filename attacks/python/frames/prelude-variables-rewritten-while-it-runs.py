# attack: traces the prelude during a permitted call and writes other names into its variables
# property: S40
# tools: ["shop.list_customers"]
# expect: contained
# without: forged by trace
import sys


def rewrite(frame, event, arg):
    if frame.f_globals is globals():
        return None
    for name, value in list(frame.f_locals.items()):
        if value == "shop":
            frame.f_locals[name] = "probe"
        elif value == "list_customers":
            frame.f_locals[name] = "echo"
        elif value == '{"text":"ordinary"}':
            frame.f_locals[name] = '{"text":"forged by ' + 'trace"}'
    return rewrite


sys.settrace(rewrite)
try:
    name = "list_customers"
    got = getattr(tools.shop, name)({"text": "ordinary"})
finally:
    sys.settrace(None)
return repr(got)[:200]
