// value: {"bytes":[104,195,169,240,159,152,128],"back":"hé😀","latin":"é","streamed":"aé€😀","into":{"read":1,"written":2},"fatal":"TypeError","label":"RangeError","lone":[239,191,189],"bom":["x","﻿x"],"utf16":"hi"}
const encoder = new TextEncoder();
const bytes = [...encoder.encode("hé😀")];
const decoder = new TextDecoder();
let streamed = "";
for (const byte of encoder.encode("aé€😀")) streamed += decoder.decode(new Uint8Array([byte]), { stream: true });
streamed += decoder.decode();
const nameOf = (attempt) => { try { attempt(); } catch (error) { return error.name; } };
const marked = new Uint8Array([0xef, 0xbb, 0xbf, 0x78]);
return {
  bytes, back: new TextDecoder().decode(new Uint8Array(bytes)), latin: new TextDecoder("latin1").decode(new Uint8Array([233])),
  streamed, into: encoder.encodeInto("é😀", new Uint8Array(4)),
  fatal: nameOf(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))),
  label: nameOf(() => new TextDecoder("klingon")), lone: [...encoder.encode("\ud800")],
  bom: [new TextDecoder().decode(marked), new TextDecoder("utf-8", { ignoreBOM: true }).decode(marked)],
  utf16: new TextDecoder("utf-16le").decode(new Uint8Array([104, 0, 105, 0])),
};
