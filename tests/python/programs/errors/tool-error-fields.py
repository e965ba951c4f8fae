# What a caught ToolError says.
try:
    await tools.filesystem.read_file(path="/data/missing.txt")
except ToolError as error:
    print(type(error).__name__, error.code, error.server, error.tool)
    print(error.message)
    print(str(error) == error.message, isinstance(error, RuntimeError), error.retryable)
