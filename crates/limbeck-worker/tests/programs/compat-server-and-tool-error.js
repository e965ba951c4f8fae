// throws: MCP call failed (test/fail): it failed as asked
await callMCPTool("test", "fail");
