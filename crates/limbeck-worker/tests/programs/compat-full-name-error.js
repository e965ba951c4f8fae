// throws: it failed as asked
await callMCPTool("fail", {});
