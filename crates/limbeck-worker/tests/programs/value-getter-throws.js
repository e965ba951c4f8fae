// throws: Error: not for reading
return { get secret() { throw new Error("not for reading"); } };
