// attack: reads keys of the store that were never written, beside those that name prototypes
// property: S12
// expect: value ["__proto__", "constructor", "'; DROP TABLE kv; --", null, null, null, null, "string"]
const kept = async (key: string) => ((await store.get(key)) as any)?.of;
return [await kept("__proto__"), await kept("constructor"), await kept("'; DROP TABLE kv; --"), await store.get("valueOf"), await store.get("hasOwnProperty"),
  await store.get("a"), ({} as any).polluted, typeof (await store.get("json"))];
