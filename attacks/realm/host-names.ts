// attack: asks for every name under which other runtimes hand out authority, by scope, by eval and by property
// property: S04
// expect: value []
const names = ["process", "require", "module", "exports", "__dirname", "__filename", "global", "Buffer", "Deno", "Bun", "fetch",
  "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "SharedWorker", "importScripts", "navigator", "window", "self",
  "document", "location", "localStorage", "indexedDB", "WebAssembly", "std", "os", "bjson", "scriptArgs", "print", "load",
  "loadScript", "readFile", "read", "quit", "gc", "native", "host", "__send", "__native", "__limbeck", "limbeck", "Java", "Packages",
  "ActiveXObject", "WScript", "Atomics", "SharedArrayBuffer", "ShadowRealm", "Compartment", "harden", "navigator", "caches"];
const reached: string[] = [];
for (const name of names) {
  if (name in globalThis) reached.push(`in: ${name}`);
  if (new Function(`return typeof ${name}`)() !== "undefined") reached.push(`typeof: ${name}`);
  if ((0, eval)(`typeof ${name}`) !== "undefined") reached.push(`eval: ${name}`);
}
return reached;
