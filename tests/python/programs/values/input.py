# `input` is the JSON value that came with the program.
# input: {"repo": "sample", "labels": ["bug"], "limit": 3, "threshold": 2.5, "dry_run": true, "note": null}
if input.get("dry_run"):
    print(f"dry run on {input['repo']}, {input.limit} at most")
issues = tools.github.list_issues(owner="acme", repo=input["repo"], labels=input["labels"], per_page=input["limit"])["issues"]
return {"numbers": [i["number"] for i in issues], "note": input["note"], "half": input["threshold"] / 2, "keys": list(input)}
