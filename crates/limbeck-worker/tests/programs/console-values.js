// stdout: 1 'a' null undefined true 10n Symbol(s)
// stdout: [ 1, 'two', { three: 3 } ] { a: { b: { c: [ 1 ] } } }
// stdout: Map(2) { 'a' => 1, { b: 2 } => [ 3 ] } Set(1) { 'x' }
// stdout: 1970-01-01T00:00:00.000Z /a+/gi [Function: named] [class Shape] Shape { side: 2 }
// stdout: Uint8Array(2) [ 1, 2 ] [ <empty>, 1 ] { get: [Getter], 'a-b': -0, [Symbol(k)]: 1 }
// stdout: { name: 'loop', self: [Circular] }
// stdout: [Object: null prototype] { x: 1 } {} [] Promise { <pending or settled> }
console.log("1 'a'", null, undefined, true, 10n, Symbol("s"));
console.log([1, "two", { three: 3 }], { a: { b: { c: [1] } } });
console.log(new Map([["a", 1], [{ b: 2 }, [3]]]), new Set(["x"]));
class Shape { constructor() { this.side = 2; } }
console.log(new Date(0), /a+/gi, function named() {}, Shape, new Shape());
console.log(new Uint8Array([1, 2]), [, 1], { get get() { return 1; }, [Symbol("k")]: 1, "a-b": -0 });
const loop = { name: "loop" };
loop.self = loop;
console.log(loop);
console.log(Object.assign(Object.create(null), { x: 1 }), {}, [], Promise.resolve(1));
