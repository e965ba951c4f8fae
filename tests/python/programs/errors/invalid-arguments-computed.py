# Arguments that do not fit the schema and that nobody could see before: an error with its code.
args = {"owner": "acme"}
args["number"] = "".join(["1", "2"])
codes = []
for extra in ({}, {"repo": "sample"}, {"repo": "sample", "number": 2, "colour": "red"}):
    try:
        codes.append(tools.github.get_issue({**args, **extra})["number"])
    except ToolError as error:
        codes.append(error.code)
print(codes)
tools.github.get_issue({**args, "repo": "sample", "number": int(args["number"])})["number"]
