// throws: ToolError: not today
throw new ToolError("not today", { code: "denied", hint: "come back tomorrow" });
