# A misspelt method.
# message: any
names = ["a"]
names.push("b")
