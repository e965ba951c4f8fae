# A group that nobody handles.
problems = []
for number in (1, 404, 405):
    try:
        tools.github.get_issue(owner="a", repo="b", number=number)
    except ToolError as error:
        problems.append(error)
if problems:
    raise ExceptionGroup("some issues are missing", problems)
