// attack: tries every way another engine gives to an environment variable and a file whose names it knows
// property: S01
// input: {"variable": "{{canary_variable}}", "file": "{{canary_file}}"}
// expect: value []
const { variable, file } = input as { variable: string; file: string };
const tries: Record<string, string> = {
  node: `process.env[${JSON.stringify(variable)}]`,
  deno: `Deno.env.get(${JSON.stringify(variable)})`,
  denoFile: `Deno.readTextFileSync(${JSON.stringify(file)})`,
  bun: `Bun.env[${JSON.stringify(variable)}]`,
  quickjs: `std.getenv(${JSON.stringify(variable)})`,
  quickjsFile: `std.loadFile(${JSON.stringify(file)})`,
  quickjsOs: `os.open(${JSON.stringify(file)}, 0)`,
  d8: `read(${JSON.stringify(file)})`,
  spidermonkey: `os.getenv(${JSON.stringify(variable)})`,
  require: `require("fs").readFileSync(${JSON.stringify(file)}, "utf8")`,
  binding: `process.binding("fs")`,
  fetch: `fetch("file://" + ${JSON.stringify(file)}).then((r) => r.text())`,
  import: `import(${JSON.stringify(file)}, { with: { type: "json" } })`,
  importText: `import(${JSON.stringify(file)}, { with: { type: "text" } })`,
  importData: `import("data:text/javascript,export default 1")`,
  importStd: `import("std")`,
  importOs: `import("qjs:os")`,
  importStdNg: `import("qjs:std")`,
};
const reached: string[] = [];
for (const [name, code] of Object.entries(tries)) {
  for (const run of [(c: string) => (0, eval)(c), (c: string) => new Function(`return (${c})`)()]) {
    try {
      const got = await run(code);
      if (got !== undefined) reached.push(`${name}: ${typeof got}`);
    } catch {}
  }
}
return reached;
