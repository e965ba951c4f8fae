// attack: doubles a text without end, as a rope and flattened
// property: S23
// timeout_ms: 10000
// expect: error memory_limit|exception
let text = "x";
const kept: string[] = [];
for (;;) { text += text; kept.push(text.toUpperCase()); }
