// attack: looks for prototypes that the program before poisoned
// property: S12
// expect: value [null, null, 1, "function", "a"]
return [({} as any).poisoned, ([] as any).poisoned, JSON.parse("1"), typeof (await Promise.resolve(() => 0)), "a-b".split("-")[0]];
