// attack: imports at run time, where no parser sees the name
// property: S14
// expect: error syntax
// message: modules cannot be loaded at run time
const name = ["node", "fs"].join(":");
const fs = await import(name);
return Object.keys(fs);
