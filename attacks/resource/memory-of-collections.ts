// attack: fills maps, sets, weak maps and symbols of the registry
// property: S23
// timeout_ms: 10000
// expect: error memory_limit|timeout
const map = new Map<unknown, unknown>();
const set = new Set<unknown>();
const weak = new WeakMap<object, unknown>();
for (let i = 0; ; i++) {
  const key = { i };
  map.set(key, [i]);
  set.add(Symbol.for(`registered ${i}`));
  weak.set(key, map);
}
