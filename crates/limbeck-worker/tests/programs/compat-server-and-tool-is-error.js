// value: "it went wrong"
// An error the tool reports is its answer.
return await callMCPTool("test", "echo", { isError: true, content: [{ type: "text", text: "it went wrong" }] });
