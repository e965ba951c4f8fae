# attack: NUL and control characters in values, keys, names of tools, keys of the store and messages, where C and terminals stop
# property: S25
# expect: value ["a\u0000b", "unknown_tool", "kept", null, "{\"\\u0000\":\"\\u0000\\u001b[31m\"}"]
name = "echo\0"
try:
    code = tools.probe[name]()
except ToolError as error:
    code = error.code
store.set("python nul\0one", "kept")
return ["a\0b", code, store.get("python nul\0one"), store.get("python nul"), tools.probe.echo({"\0": "\0\x1b[31m"}).text]
