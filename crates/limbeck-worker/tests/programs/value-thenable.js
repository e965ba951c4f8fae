// value: "resolved"
return { then(resolve) { resolve("resolved"); } };
