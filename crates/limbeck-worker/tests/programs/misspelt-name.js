// throws: ReferenceError: consle is not defined
consle.log("x");
