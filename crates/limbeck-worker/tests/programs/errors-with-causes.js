// throws: Error: outer
throw new Error("outer", { cause: new TypeError("inner") });
