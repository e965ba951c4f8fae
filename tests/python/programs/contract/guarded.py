# A mistake inside `try` is a mistake all the same.
# message: any
try:
    tools.github.get_issue(owner="a", repo="b", num=3)
except ToolError as error:
    print("caught", error.code)
