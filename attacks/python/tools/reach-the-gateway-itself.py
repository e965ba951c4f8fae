# attack: calls the gateway's own tools from inside, to run programs without limits of its own
# property: S49
# expect: value []
reached = []
names = [
    ("limbeck", "execute"), ("limbeck", "search"), ("", "execute"), ("gateway", "execute"), ("shop", "execute"), ("probe", "tools/call"),
    ("probe", "initialize"), ("probe", "notifications/cancelled"), ("mcp", "runtime"), ("..", "execute"), ("\n", "\r\n"),
]
for server, tool in names:
    for how, call in [("tools", lambda: tools[server][tool](code="1")), ("full", lambda: call_tool(f"mcp__{server}__{tool}", {"code": "1"}))]:
        try:
            call()
            reached.append(f"{how} {server}.{tool}")
        except Exception:
            pass
return reached
