// attack: lists every global, by name and by symbol, looking for one that is not documented
// property: S06
// expect: value []
const language = "Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError "
  + "AggregateError SuppressedError Iterator Array parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent encodeURI "
  + "encodeURIComponent escape unescape Infinity NaN undefined eval Number Boolean String Math Reflect Symbol "
  + "DisposableStack AsyncDisposableStack globalThis BigInt Date RegExp JSON Proxy Map Set WeakMap WeakSet ArrayBuffer "
  + "Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array "
  + "Float16Array Float32Array Float64Array DataView Promise WeakRef FinalizationRegistry Intl";
const platform = "queueMicrotask DOMException btoa atob performance console setTimeout setInterval setImmediate clearTimeout "
  + "clearInterval clearImmediate structuredClone AbortSignal AbortController TextEncoder TextDecoder crypto URL URLSearchParams";
const ours = "tools ToolError artifacts emit search describe servers store budget input callTool llm callMCPTool discoverMCPTools searchTools "
  + "getToolSchema listServers skills saveSkill saveTool save_tool workspace";
const allowed = new Set(`${language} ${platform} ${ours}`.split(" "));
const found: string[] = [];
for (let o = globalThis; o !== null && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
  for (const key of Reflect.ownKeys(o)) if (key !== Symbol.toStringTag && !allowed.has(key as string)) found.push(String(key));
}
return found;
