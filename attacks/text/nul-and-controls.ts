// attack: NUL and control characters in values, keys, names of tools, keys of the store and messages, where C and terminals stop
// property: S25
// expect: value ["a\u0000b", "unknown_tool", "kept", null, "{\"\\u0000\":\"\\u0000\\u001b[31m\"}"]
let code;
try { await tools.probe["echo\u0000"]({}); } catch (e) { code = e.code; }
await store.set("nul\u0000one", "kept");
return ["a\u0000b", code, await store.get("nul\u0000one"), await store.get("nul"), (await tools.probe.echo({ "\u0000": "\u0000\u001b[31m" })).text];
