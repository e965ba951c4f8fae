// attack: sorts a long list with an inconsistent order, and typed arrays with a comparison that resizes them
// property: S21
// timeout_ms: 20000
// expect: value "sorted"
const list = Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 20_011);
let flip = 1;
list.sort(() => (flip = -flip));
const buffer: any = new ArrayBuffer(800, { maxByteLength: 8_000 } as any);
const view = new Float64Array(buffer);
view.sort((a, b) => { buffer.resize(buffer.byteLength === 800 ? 8 : 800); return b - a; });
const short = [3, 2, 1];
short.sort((a, b) => { short.length = 0; short.push(9, 9, 9, 9); return a - b; });
return "sorted";
