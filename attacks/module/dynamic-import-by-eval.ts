// attack: imports at run time from code made by `eval` and `Function`, which the worker's parser never sees
// property: S14
// input: "{{canary_file}}"
// expect: value []
const loaded: string[] = [];
for (const name of [input as string, "std", "os", "qjs:std", "qjs:os", "bjson", "fs", "node:fs", "limbeck", "./servers", "program", "", "data:text/javascript,export default 1", "file:///etc/passwd", "/etc/passwd", "\u0000"]) {
  for (const run of [(0, eval), (code: string) => new Function(`return ${code}`)(), (code: string) => (async () => 0).constructor(`return await ${code}`)()]) {
    for (const options of ["", ", { with: { type: 'json' } }", ", { with: { type: 'text' } }", ", { with: { type: 'bytecode' } }"]) {
      try { await run(`import(${JSON.stringify(name)}${options})`); loaded.push(name); } catch {}
    }
  }
}
return loaded;
