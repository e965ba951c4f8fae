// value: {"x":1}
Promise.prototype.then = undefined;
JSON.parse = JSON.stringify = () => "broken";
Map.prototype.get = Map.prototype.set = () => undefined;
Array.prototype.push = Array.prototype.map = undefined;
globalThis.Promise = undefined;
return await tools.test.echo({ x: 1 });
