// stdout: [tools: test] [tools.test] [Function: tools.test.echo]
// stdout: [tools.test]
console.log(tools, tools.test, tools.test.echo);
console.log(`${tools.test}`);
