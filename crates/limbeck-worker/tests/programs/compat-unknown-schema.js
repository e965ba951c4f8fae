// value: [null,null,null]
return [await getToolSchema("mcp__test__echo"), await getToolSchema("test", "echo"), await getToolSchema("test")];
