// value: {"deep":true,"cycle":true,"shared":true,"date":0,"map":[["k",{"v":1}]],"set":[1],"regexp":"/a/g","bytes":[1,2],"error":["TypeError","bad",true],"plain":"Object","refused":["DataCloneError","DataCloneError","DataCloneError"]}
const shared = { s: 1 };
class Point { x = 1; }
const value = {
  nested: { list: [1, { a: 2 }] }, one: shared, two: shared, date: new Date(0), map: new Map([["k", { v: 1 }]]),
  set: new Set([1]), regexp: /a/g, bytes: new Uint8Array([1, 2]), error: new TypeError("bad"), point: new Point(),
};
value.self = value;
const copy = structuredClone(value);
const refuse = (thing) => { try { structuredClone(thing); } catch (error) { return error.name; } };
return {
  deep: copy.nested.list[1] !== value.nested.list[1] && copy.nested.list[1].a === 2, cycle: copy.self === copy,
  shared: copy.one === copy.two && copy.one !== shared, date: copy.date.getTime(), map: [...copy.map],
  set: [...copy.set], regexp: String(copy.regexp), bytes: [...copy.bytes],
  error: [copy.error.name, copy.error.message, copy.error instanceof TypeError], plain: copy.point.constructor.name,
  refused: [refuse(() => 1), refuse({ f: Symbol("s") }), refuse(tools)],
};
