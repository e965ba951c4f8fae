// Hints: the next step for an error that ended the program.

const HINTS = {
  fetch: 'there is no network here; call a tool of a server instead: `await tools.server.tool({...})`, found with `search("...")`',
  XMLHttpRequest: 'there is no network here; call a tool of a server instead: `await tools.server.tool({...})`',
  WebSocket: 'there is no network here; call a tool of a server instead: `await tools.server.tool({...})`',
  axios: 'there are no packages here; call a tool of a server instead: `await tools.server.tool({...})`',
  require: 'there are no modules here; use the globals: tools, callMCPTool, search, describe, input, console, store, URL, crypto',
  module: 'a program is not a module; `return` the result',
  exports: 'a program is not a module; `return` the result',
  process: 'there is no process here; the arguments are in `input`, `budget` has the time left, `return` ends the program',
  Buffer: 'use Uint8Array, TextEncoder and TextDecoder, atob and btoa',
  window: 'this is not a browser; globals are on `globalThis`',
  self: 'this is not a browser; globals are on `globalThis`',
  global: 'globals are on `globalThis`',
  document: 'this is not a browser; a tool of a server may fetch or parse a page: `search("...")`',
  localStorage: 'use `await store.get(key)` and `await store.set(key, value)`',
  sessionStorage: 'use `await store.get(key)` and `await store.set(key, value)`',
  navigator: 'this is not a browser; only the globals of the language and `tools` exist',
  alert: 'use `console.log`',
  prompt: 'a program cannot ask the user; pass its arguments as `input`',
  Deno: 'this is not Deno; files, network and processes are reached through tools alone',
  Bun: 'this is not Bun; files, network and processes are reached through tools alone',
  fs: 'there are no files here; a tool of a server may read and write them: `search("read file")`',
  path: 'there are no modules here; join paths with template literals',
  __dirname: 'there are no files here',
  __filename: 'there are no files here',
  Worker: 'there are no threads here; `await Promise.all([...])` runs tool calls at the same time',
  mcp: 'tools are called as `await tools.server.tool({...})`',
  call_mcp_tool: 'in TypeScript it is `callMCPTool`, or `await tools.server.tool({...})`',
  print: 'use `console.log`',
  sleep: 'use `await new Promise((resolve) => setTimeout(resolve, ms))`',
};
setPrototypeOf(HINTS, null);

const NEAREST = 3;
const NAME_CHARS_MAX = 40;
const SUGGESTED = [
  'tools', 'search', 'describe', 'servers', 'input', 'console', 'store', 'skills', 'artifacts', 'emit', 'budget', 'ToolError', 'callTool',
  'callMCPTool',
  'discoverMCPTools', 'searchTools', 'getToolSchema', 'listServers', 'setTimeout', 'clearTimeout', 'setInterval',
  'clearInterval', 'setImmediate', 'queueMicrotask', 'structuredClone', 'URL', 'URLSearchParams', 'TextEncoder',
  'TextDecoder', 'atob', 'btoa', 'crypto', 'performance', 'AbortController', 'AbortSignal', 'Object', 'Array',
  'String', 'Number', 'Boolean', 'Symbol', 'BigInt', 'Date', 'Math', 'JSON', 'Map', 'Set', 'WeakMap', 'WeakSet',
  'RegExp', 'Promise', 'Proxy', 'Reflect', 'Error', 'TypeError', 'RangeError', 'Intl', 'parseInt', 'parseFloat',
  'isNaN', 'isFinite', 'encodeURIComponent', 'decodeURIComponent', 'encodeURI', 'decodeURI', 'globalThis',
];

/** Edits that turn one name into the other, case aside (Wagner and Fischer, 1974). */
const editDistance = (from, to) => {
  const a = stringToLowerCase(from);
  const b = stringToLowerCase(to);
  let row = [];
  for (let j = 0; j <= b.length; j++) arrayPush(row, j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      arrayPush(next, min(next[j - 1] + 1, row[j] + 1, row[j - 1] + same));
    }
    row = next;
  }
  return row[b.length];
};

const nearestGlobals = (name) => {
  const short = stringSlice(name, 0, NAME_CHARS_MAX);
  const ranked = arrayMap(SUGGESTED, (known) => ({ known, distance: editDistance(short, known) }));
  arraySort(ranked, (a, b) => a.distance - b.distance);
  return arrayMap(arraySlice(ranked, 0, NEAREST), ({ known }) => `\`${known}\``);
};

const hintForName = (name) => {
  const known = HINTS[name];
  if (known !== undefined) return known;
  if (arrayIncludes(serverNames(), name)) return `a server is reached through \`tools\`: \`await ${memberLabel('tools', name)}.tool({...})\``;
  return `no such name; the nearest are ${arrayJoin(nearestGlobals(name), ', ')}`;
};

const UNDEFINED_NAME = /^'?([\p{L}\p{N}_$]+)'? is not defined$/u;
const PROPERTY_OF_NOTHING = /^cannot read property '(.+)' of (undefined|null)$/;

/** Members of MCP's own results, which a program that calls `tools` does not see. */
const RAW_MEMBERS = /\.content\s*(\?\.)?\[\s*0|\.structuredContent\b|\[\s*0\s*\]\s*\??\.text\b|\{\s*(content|structuredContent)\b/;
const UNWRAPPED_HINT = 'the result of a tool is unwrapped already: use it as it is, a text is a string; `.raw({...})` gives the CallToolResult';

/** The line of the program that an error came from. */
const sourceOf = (stack) => {
  const at = regexpExec(FIRST_FRAME, stringSplit(stack, '\n')[0] ?? '');
  const line = at === null ? undefined : native.sourceLine(+at[1]);
  return typeof line === 'string' ? line : '';
};

/** What a text that is not JSON looks like. */
const hintForText = (text) => {
  const start = jsonStringify(stringSlice(text, 0, NAME_CHARS_MAX));
  if (regexpExec(/^\s*[[{(]\s*['(]|'\s*:\s|\b(None|True|False)\b/, stringSlice(text, 0, 400)) !== null) {
    return `the text is not JSON but how Python prints values; it begins with ${start}: take what is needed from it with a regular expression`;
  }
  return `the text is not JSON, so use it as it is; it begins with ${start}`;
};

/** For an error of a call that has no hint of its own: which call it was. */
const failedCall = (error) => {
  if (!(error instanceof ToolError)) return undefined;
  const server = readText(error, 'server');
  const tool = readText(error, 'tool');
  if (server === undefined || tool === undefined) return undefined;
  return `\`${memberLabel(memberLabel('tools', server), tool)}\` failed with the code \`${readText(error, 'code')}\``;
};

const TEXT_METHODS = [
  'split', 'trim', 'includes', 'match', 'matchAll', 'replace', 'replaceAll', 'startsWith', 'endsWith', 'slice', 'substring',
  'indexOf', 'toLowerCase', 'toUpperCase', 'padStart', 'padEnd', 'charAt', 'at', 'concat',
];
const LIST_METHODS = [
  'map', 'filter', 'forEach', 'reduce', 'find', 'findIndex', 'some', 'every', 'sort', 'flatMap', 'flat', 'join', 'push', 'reverse',
  'slice', 'includes', 'indexOf', 'at', 'concat', 'entries',
];
const METHOD = /^(.+?)\??\.([\w$]+) is not a function$/;

/** For a method of texts or lists that a value does not have: an answer of a tool may have the text or the list in a field. */
const hintForMethod = (message) => {
  const parts = regexpExec(METHOD, message);
  if (parts === null || !isIdentifier(parts[1])) return undefined;
  const value = parts[1];
  const method = parts[2];
  let last;
  let kind;
  if (lastWithText !== undefined && arrayIncludes(TEXT_METHODS, method)) {
    last = lastWithText;
    kind = 'text';
  } else if (lastWithList !== undefined && arrayIncludes(LIST_METHODS, method)) {
    last = lastWithList;
    kind = 'list';
  } else {
    return undefined;
  }
  const inField = `${memberLabel(value, last.field)}.${method}(…)`;
  return `\`${value}\` is not a ${kind}; if it is the result of \`${last.label}\`, write \`${inField}\`, and if it is a call, \`await\` it first`;
};

const FIELD_SPREAD_OR_LOOPED = /(?:\.\.\.|\bof )([\w$]+)\.[\w$]+/;

/** For a list that is taken from a text: the program meant what the text says. */
const hintForListOfText = (stack) => {
  const value = lastJsonText === undefined ? undefined : regexpExec(FIELD_SPREAD_OR_LOOPED, sourceOf(stack))?.[1];
  if (value === undefined) return undefined;
  return `if \`${value}\` is the result of \`${lastJsonText}\`, it is a text: write \`JSON.parse(${value})\``;
};

const OFFER_OF_TOOLS = /^tools\.([\w$]+)\.(resources|prompts)\.([\w$]+) is not a function$/;

/** For `tools.name.resources.read(…)`: resources and prompts are not tools. */
const hintForOffer = (message) => {
  const parts = regexpExec(OFFER_OF_TOOLS, message);
  if (parts === null) return undefined;
  return `resources and prompts are reached through \`servers\`: \`await servers.${parts[1]}.${parts[2]}.${parts[3]}(…)\``;
};

const hintFor = (error, message, stack) => {
  if (isObject(error) && weakHas(refusedTexts, error)) return hintForText(weakGet(refusedTexts, error));
  if (error instanceof ReferenceError) {
    const name = regexpExec(UNDEFINED_NAME, message)?.[1];
    return name === undefined ? undefined : hintForName(name);
  }
  if (!(error instanceof TypeError)) return undefined;
  if (regexpExec(PROPERTY_OF_NOTHING, message) !== null) {
    if (regexpExec(RAW_MEMBERS, sourceOf(stack)) !== null) return UNWRAPPED_HINT;
    const ofText = stringIncludes(message, 'Symbol.iterator') ? hintForListOfText(stack) : undefined;
    if (ofText !== undefined) return ofText;
    return 'the value before the dot is missing: a call without `await`, or a field the tool did not return; print it with `console.log`';
  }
  if (stringStartsWith(message, 'cannot convert undefined or null')) {
    return 'a value that is taken apart is missing: a field the tool did not return, or a parameter that nothing is passed for';
  }
  if (message === 'not a function' || stringEndsWith(message, ' is not a function')) {
    const named = nameCallee(error, message, stack);
    const ofMethod = hintForOffer(named) ?? hintForMethod(named);
    if (ofMethod !== undefined) return ofMethod;
    return 'the value called here is not a function; a tool returns plain data (text stays a string until `JSON.parse`), and every call of a tool needs `await`';
  }
  if (stringEndsWith(message, 'is not iterable')) {
    if (regexpExec(RAW_MEMBERS, sourceOf(stack)) !== null) return UNWRAPPED_HINT;
    if (lastWithList !== undefined) {
      return `the value in the loop is not a list; the result of \`${lastWithList.label}\` has its list in \`${lastWithList.field}\``;
    }
    return 'the value in the loop is not a list; a tool may return an object with the list inside: print it with `console.log`';
  }
  return undefined;
};

const FIRST_FRAME = /program:(\d+):(\d+)/;
const CALLEE = /[\w$.?[\]'"]+$/;
const CALLED = /^([\w$]+)\s*(?:\?\.)?[(`]/;

/**
 * What is called at a place of the source. The engine points at the last thing it read: the name of what
 * is called, or the first argument when that is a function. Anything less clear is `undefined`.
 */
const calleeAt = (line, column) => {
  const before = stringSlice(line, 0, column);
  const open = stringTrimEnd(before);
  if (stringEndsWith(open, ',')) return undefined;
  if (!stringEndsWith(open, '(')) {
    const name = regexpExec(CALLED, stringSlice(line, column))?.[1];
    return name === undefined ? undefined : `${regexpExec(CALLEE, before)?.[0] ?? ''}${name}`;
  }
  // `list.map(x => …)` is clear; in `f(g(…))` either may be meant.
  if (regexpExec(CALLED, stringSlice(line, column)) !== null) return undefined;
  return regexpExec(CALLEE, stringSlice(open, 0, -1))?.[0];
};

/** The engine says `not a function` and no more; the source says of what. */
const nameCallee = (error, message, stack) => {
  if (message !== 'not a function' || !(error instanceof TypeError)) return message;
  const at = regexpExec(FIRST_FRAME, stringSplit(stack, '\n')[0] ?? '');
  const line = at === null ? undefined : native.sourceLine(+at[1]);
  const callee = typeof line === 'string' ? calleeAt(line, +at[2] - 1) : undefined;
  return callee === undefined || callee.length > 2 * NAME_CHARS_MAX ? message : `${callee} is not a function`;
};
