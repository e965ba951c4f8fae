# attack: puts NUL, zero-width characters, line ends, bidirectional marks and halves of characters into names of tools and servers
# property: S41
# expect: value []
reached = []
for extra in ["\0", "\u200b", "\u200d", "\ufeff", "\u202e", "\n", "\u2028", "\t", "\u00ad", "\ud800", "\x7f"]:
    for server, tool in [("probe", f"echo{extra}"), ("probe", f"ec{extra}ho"), (f"probe{extra}", "echo"), (f"pr{extra}obe", "echo")]:
        for how, call in [("tools", lambda: tools[server][tool]()), ("full", lambda: call_tool(f"mcp__{server}__{tool}"))]:
            try:
                call()
                reached.append(f"{how} {[server, tool]!a}")
            except (ToolError, ValueError, KeyError, AttributeError):
                pass
return reached
