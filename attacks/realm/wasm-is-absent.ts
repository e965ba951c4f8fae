// attack: looks for a second WebAssembly engine inside the first, and for code made from bytes
// property: S08
// expect: value "held"
const bytes = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
const reached: string[] = [];
for (const code of ["WebAssembly", "new WebAssembly.Module(b)", "WebAssembly.instantiate(b)", "bjson.read(b.buffer)", "std.evalScript(b)"]) {
  try { new Function("b", `return ${code}`)(bytes); reached.push(code); } catch {}
}
for (const type of ["bytecode", "webassembly", "json", "text", "bytes"]) {
  try { await new Function("t", "return import('x', { with: { type: t } })")(type); reached.push(`import ${type}`); } catch {}
}
return reached.length === 0 ? "held" : reached;
