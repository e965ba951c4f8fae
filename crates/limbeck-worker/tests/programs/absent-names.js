// value: []
const absent = [
  typeof fetch, typeof require, typeof process, typeof Buffer, typeof window, typeof document, typeof Deno, typeof Bun,
  typeof XMLHttpRequest, typeof WebSocket, typeof module, typeof exports, typeof global, typeof navigator,
  typeof std, typeof os,
];
return absent.filter((type) => type !== "undefined");
