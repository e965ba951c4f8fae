// value: true
return tools.test.echo === tools.test.echo && tools.test === tools["test"];
