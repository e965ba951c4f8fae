# A caught error as a value, and a group.
try:
    tools.github.get_issue(owner="a", repo="b", number=500)
except ToolError as error:
    caught = error
return {"tool": caught, "own": ValueError("bad"), "group": ExceptionGroup("two", [KeyError("k"), OSError("o")])}
