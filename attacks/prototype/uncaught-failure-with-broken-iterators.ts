// attack: breaks iteration of arrays and lets a failed call end the program, so that the end gives a false reason
// property: S38
// expect: error exception
// message: ToolError
Array.prototype[Symbol.iterator] = function () { throw new Error("broken"); } as any;
await tools.probe.fail({ message: "as asked" });
