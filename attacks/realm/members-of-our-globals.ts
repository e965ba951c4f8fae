// attack: walks everything that hangs on the globals of the gateway and of the platform, looking for an undocumented member
// property: S06
// expect: value []
const allowed: Record<string, string> = {
  console: "assert clear count countReset debug dir error group groupCollapsed groupEnd info log table time timeEnd timeLog trace warn",
  crypto: "getRandomValues randomUUID subtle",
  "crypto.subtle": "digest",
  store: "get set",
  llm: "ask map think",
  budget: "calls callsRemaining elapsedMs llm remaining remainingMs",
  workspace: "list read readBytes remove write",
  performance: "mark measure now timeOrigin toJSON",
  tools: "shop probe",
  servers: "shop probe",
};
const path = (name: string) => name.split(".").reduce((o: any, key) => o[key], globalThis);
const found: string[] = [];
for (const [name, members] of Object.entries(allowed)) {
  const known = new Set(members.split(" "));
  for (const key of Reflect.ownKeys(path(name))) if (!known.has(String(key))) found.push(`${name}.${String(key)}`);
}
const functions = [search, describe, callTool, llm.ask, llm.think, llm.map, saveSkill, workspace.read, workspace.write, workspace.list, workspace.remove, budget.remaining, callMCPTool, discoverMCPTools, searchTools, getToolSchema, listServers,
  structuredClone, setTimeout, setInterval, setImmediate, clearTimeout, queueMicrotask, atob, btoa, store.get, store.set,
  console.log, tools.shop.list_customers.raw];
for (const f of functions) {
  for (const key of Reflect.ownKeys(f)) {
    if (!["length", "name", "toString", "prototype"].includes(String(key))) found.push(`${f.name}.${String(key)}`);
  }
}
return found;
