# Collects what works and says what did not.
ids = [3, 400, 7, -1, 9]
found, missing = [], []
for number in ids:
    try:
        issue = tools.github.get_issue(owner="acme", repo="sample", number=number)
    except ToolError as e:
        missing.append({"number": number, "why": e.message})
    else:
        found.append(issue["number"])
    finally:
        print("asked for", number)
return {"found": found, "missing": missing}
