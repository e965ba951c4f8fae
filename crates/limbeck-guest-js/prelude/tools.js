// `tools`, and what a program may ask the gateway itself.

const describeType = (value) => {
  if (value === null) return 'null';
  if (isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

/** Calls one tool. `label` is how the program wrote it, `head` the JSON text of its target. */
const callTool = (label, head, args) => {
  const value = args.length === 0 || args[0] === undefined ? {} : args[0];
  if (args.length > 1 || typeof value !== 'object' || value === null || isArray(value)) {
    const got = args.length > 1 ? `${args.length} arguments` : describeType(value);
    return promiseReject(typeError(`${label} takes one object argument, such as { name: value }; got ${got}`));
  }
  try {
    return send(OP.tool, head, encodeBody(value, label) ?? '{}');
  } catch (error) {
    return promiseReject(error);
  }
};

// It inherits nothing, so that JSON looks for no `toJSON` a program may have given to every object.
const toolHead = (server, tool, form) =>
  jsonStringify(server === undefined ? { __proto__: null, tool, form } : { __proto__: null, server, tool, form });

const memberLabel = (label, name) => (isIdentifier(name) ? `${label}.${name}` : `${label}[${jsonStringify(name)}]`);

/** What a `tools.server` or `tools.server.tool` stands for, so that `describe` takes it for a name. */
const describable = new SafeMap();

const makeTool = (server, tool, label) => {
  const head = toolHead(server, tool, 'value');
  const rawHead = toolHead(server, tool, 'raw');
  const call = (...args) => callTool(label, head, args);
  const raw = (...args) => callTool(`${label}.raw`, rawHead, args);
  define(call, 'name', label);
  define(raw, 'name', `${label}.raw`);
  define(call, 'raw', freeze(raw));
  define(call, 'toString', () => `[${label}]`);
  describable.set(call, { server, tool });
  return freeze(call);
};

const ASKED_OF_OBJECTS = ['toJSON', 'toString', 'valueOf', 'constructor'];

/**
 * An object whose members are made by `member(name)` on first use and listed by `names()`. What the
 * language asks of every object is taken for a name only when there is such a name: awaiting, printing and
 * JSON stay quiet; `namesakes()` are the names that are among these. `then` never is one: whoever awaits the
 * object would call it. With `called` it is a function as well.
 */
const directory = (label, member, names, called, namesakes = names) => {
  const made = new SafeMap();
  const readOnly = () => {
    throw typeError(`${label} cannot be changed`);
  };
  const get = (_, name) => {
    if (typeof name === 'symbol' || name === 'then') return undefined;
    if (arrayIncludes(ASKED_OF_OBJECTS, name) && !arrayIncludes(namesakes(), name)) {
      return name === 'toString' ? () => `[${label}]` : undefined;
    }
    let value = made.get(name);
    if (value === undefined) {
      value = member(name);
      made.set(name, value);
    }
    return value;
  };
  // A proxy can be called when what it stands before can; an arrow function has nothing that cannot be hidden.
  const target = called === undefined ? create(null) : () => undefined;
  return new Proxy(target, freeze({
    __proto__: null,
    get,
    apply: () => called(),
    has: (_, name) => typeof name === 'string' && arrayIncludes(names(), name),
    ownKeys: () => arraySlice(names()),
    getOwnPropertyDescriptor: (_, name) =>
      typeof name === 'string' && arrayIncludes(names(), name)
        ? { __proto__: null, value: get(_, name), enumerable: true, configurable: true, writable: false }
        : undefined,
    getPrototypeOf: () => null,
    set: readOnly,
    defineProperty: readOnly,
    deleteProperty: readOnly,
    setPrototypeOf: readOnly,
    preventExtensions: readOnly,
  }));
};

/** Servers of this execution in the host's order: `{name, toolCount, tools, namesakes}`. */
let serverList = [];
const serverNames = () => arrayMap(serverList, (server) => server.name);
const toolNamesOf = (name) => {
  for (let i = 0; i < serverList.length; i++) if (serverList[i].name === name) return serverList[i].tools;
  return [];
};

const namesakesOf = (name) => {
  for (let i = 0; i < serverList.length; i++) if (serverList[i].name === name) return serverList[i].namesakes;
  return [];
};

const setServers = (servers) => {
  serverList = arrayMap(isArray(servers) ? servers : [], ({ name, tools, namesakes }) => ({
    name,
    namesakes: isArray(namesakes) ? namesakes : [],
    tools: isArray(tools) ? tools : [],
    toolCount: isArray(tools) ? tools.length : trunc(+tools) || 0,
  }));
};

/** Proxies and functions of `tools`, for the printer, which must not take them apart. */
const directoryLabels = new SafeMap();
const makeDirectory = (label, member, names, called, namesakes) => {
  const made = directory(label, member, names, called, namesakes);
  directoryLabels.set(made, { label, names });
  return made;
};

const tools = makeDirectory(
  'tools',
  (server) => {
    const label = memberLabel('tools', server);
    const made = makeDirectory(
      label,
      (tool) => makeTool(server, tool, memberLabel(label, tool)),
      () => toolNamesOf(server),
      undefined,
      () => namesakesOf(server),
    );
    describable.set(made, { server });
    return made;
  },
  serverNames,
);

const requireText = (value, label) => {
  if (typeof value !== 'string') throw typeError(`${label} takes a string; got ${describeType(value)}`);
  return value;
};

/** `search(query, options?)`: tools that match, best first. */
const search = (query, options) =>
  askWith(OP.search, 'search', () => ({ query: requireText(query, 'search'), ...options }));

/** The parts of `mcp__server__tool` or `server.tool`; without a separator a server alone. */
const splitName = (name) => {
  if (stringStartsWith(name, 'mcp__')) {
    const at = stringIndexOf(name, '__', 5);
    if (at > 5) return { server: stringSlice(name, 5, at), tool: stringSlice(name, at + 2) };
  }
  const known = arrayFilter(serverNames(), (server) => stringStartsWith(name, `${server}.`));
  arraySort(known, (a, b) => b.length - a.length);
  const at = known.length > 0 ? known[0].length : stringIndexOf(name, '.');
  if (at > 0 && !arrayIncludes(serverNames(), name)) {
    return { server: stringSlice(name, 0, at), tool: stringSlice(name, at + 1) };
  }
  return { server: name };
};

/** `describe(server, tool?)`, `describe('server.tool')`, `describe(tools.server.tool)`. */
const describe = (target, tool) => askWith(OP.describe, 'describe', () => {
  const known = describable.get(target);
  if (known !== undefined) return known;
  requireText(target, 'describe');
  return tool === undefined ? splitName(target) : { server: target, tool: requireText(tool, 'describe') };
});

/** Sends a call whose body may turn out to be wrong before it leaves. */
const askWith = (op, label, body) => {
  try {
    return ask(op, body(), label);
  } catch (error) {
    return promiseReject(error);
  }
};

const store = freeze({
  get: (key) => askWith(OP.storeGet, 'store.get', () => ({ key: requireText(key, 'store.get') })),
  set: (key, value) => askWith(OP.storeSet, 'store.set', () => (
    { key: requireText(key, 'store.set'), value: value === undefined ? null : value }
  )),
});

let startedMs = 0;
let limits = {};
const remaining = (limit, used) => (typeof limit === 'number' ? max(0, limit - used) : undefined);
const budget = freeze({
  get elapsedMs() { return nowMs() - startedMs; },
  get remainingMs() { return remaining(limits.wall_ms, nowMs() - startedMs); },
  get calls() { return callsMade; },
  get callsRemaining() { return remaining(limits.calls, callsMade); },
});

addFixedGlobals({ tools, ToolError, search, describe, store, budget });
