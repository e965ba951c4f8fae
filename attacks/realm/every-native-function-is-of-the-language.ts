// attack: walks the whole graph of objects that can be reached and looks for native functions that the language does not have
// property: S08
// expect: value []
const seen = new Set<object>();
const found = new Set<string>();
const languageNames = /^(get |set )?(\[Symbol\.\w+\]|[A-Za-z_$][\w$]*|)$/;
const suspicious = /native|host|wasm|load|eval[A-Z]|import|require|spawn|exec[A-Z]|open|read[A-Z]|write|fetch|socket|env|process|compile|bytecode|script|print|gc$|Atomics|SharedArrayBuffer/i;
const own = new Set(["performance", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "EvalError", "get description", "compile"]);
const visit = (value: any, path: string, depth: number) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
  if (depth > 12) return;
  seen.add(value);
  if (typeof value === "function" && Function.prototype.toString.call(value).includes("[native code]")) {
    const name = String(Object.getOwnPropertyDescriptor(value, "name")?.value ?? "");
    if (!languageNames.test(name) || (suspicious.test(name) && !own.has(name))) found.add(`${path} (${name})`);
  }
  let keys: PropertyKey[] = [];
  try { keys = Reflect.ownKeys(value); } catch {}
  for (const key of keys) {
    const d = Object.getOwnPropertyDescriptor(value, key);
    if (d === undefined) continue;
    const at = `${path}.${String(key)}`;
    visit(d.value, at, depth + 1);
    visit(d.get, `${at}:get`, depth + 1);
    visit(d.set, `${at}:set`, depth + 1);
  }
  visit(Object.getPrototypeOf(value), `${path}.__proto__`, depth + 1);
};
visit(globalThis, "globalThis", 0);
visit((function* () {})(), "generator", 0);
visit((async function* () {})(), "asyncGenerator", 0);
visit((async () => 0)(), "promise", 0);
visit([][Symbol.iterator](), "arrayIterator", 0);
visit("".matchAll(/x/g), "regexpIterator", 0);
visit(Iterator.from({ next() { return { done: true, value: 0 }; } }), "wrapper", 0);
visit([].values().map((x) => x), "helper", 0);
return [...found];
