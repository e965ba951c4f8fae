// value: {"x":1}
return await tools.test.echo.raw({ x: 1 });
