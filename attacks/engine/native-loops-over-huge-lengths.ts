// attack: native methods of arrays over objects whose length is 2^53, which check for interruption nowhere
// property: S21
// timeout_ms: 600
// input: 0
// expect: error timeout
const huge = { length: 2 ** 53 - 1 };
Array.prototype.indexOf.call(huge, 1);
