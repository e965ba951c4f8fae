# Tools and servers that do not exist, with names put together at run time.
for server, tool in (("git" + "hub", "list_" + "isues"), ("gi" + "hub", "list_issues")):
    try:
        tools[server][tool](owner="a", repo="b")
    except ToolError as error:
        print(error.code)
