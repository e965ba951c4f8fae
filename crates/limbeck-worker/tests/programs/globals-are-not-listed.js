// value: []
return Object.keys(globalThis);
