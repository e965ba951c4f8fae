// throws: TypeError: search takes a string; got an object
await search({ query: "x" });
