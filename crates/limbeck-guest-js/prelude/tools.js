// `tools`, and requests to the gateway itself: `search` and `describe`.

const describeType = (value) => {
  if (value === null) return 'null';
  if (isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

/**
 * Calls one tool. `label` is how the program wrote it, `head` the JSON text of its target. With `race` it is called for a
 * promise that the program has already. `from` is the function that the program called.
 */
const callTool = (label, head, args, race = newRace(), from = callTool) => {
  const value = args.length === 0 || args[0] === undefined ? {} : args[0];
  if (args.length > 1 || typeof value !== 'object' || value === null || isArray(value)) {
    const got = args.length > 1 ? `${args.length} arguments` : describeType(value);
    return promiseReject(typeError(`${label} takes one object argument, such as { name: value }; got ${got}`));
  }
  try {
    const { text, promises, hasTexts } = encodeArguments(value, label);
    if (promises.length > 0) return inRace(race, callWithPromises(label, head, value, promises, race));
    warnOfLosses(value, text, 'an argument', 'argument', label);
    const call = send(OP.tool, head, text ?? '{}', label, race, from);
    return hasTexts ? inRace(race, withTexts(call, label, head, value, race)) : call;
  } catch (error) {
    return promiseReject(error);
  }
};

/** Calls a tool when the promises in its arguments have settled. */
const callWithPromises = async (label, head, value, promises, race) => {
  warn(`an argument of ${label} was a promise; it was awaited, write \`await\` before its call`);
  await settleMet(promises);
  return callTool(label, head, [value], race);
};

/**
 * The answer of a call whose arguments hold JSON that `callMCPTool` parsed. Where the tool refuses the parsed value, it is
 * called with the text instead: reading a file and writing it again must not depend on what the file holds.
 */
const withTexts = async (call, label, head, value, race) => {
  try {
    return await call;
  } catch (error) {
    if (readText(error, 'code') !== 'invalid_arguments') throw error;
    return send(OP.tool, head, encodeArguments(value, label, true).text ?? '{}', label, race);
  }
};

// It inherits nothing, so that JSON looks for no `toJSON` a program may have given to every object.
const toolHead = (server, tool, form) =>
  jsonStringify(server === undefined ? { __proto__: null, tool, form } : { __proto__: null, server, tool, form });

const memberLabel = (label, name) => (isIdentifier(name) ? `${label}.${name}` : `${label}[${jsonStringify(name)}]`);

/** Server and tool of each `tools.server` and `tools.server.tool`, so that `describe` accepts them as names. */
const describable = new SafeMap();

const makeTool = (server, tool, label) => {
  const head = toolHead(server, tool, 'value');
  const rawHead = toolHead(server, tool, 'raw');
  const call = (...args) => callTool(label, head, args, undefined, call);
  const raw = (...args) => callTool(`${label}.raw`, rawHead, args, undefined, raw);
  define(call, 'name', label);
  define(raw, 'name', `${label}.raw`);
  define(call, 'raw', freeze(raw));
  define(call, 'toString', () => `[${label}]`);
  describable.set(call, server === undefined ? { tool } : { server, tool });
  return freeze(call);
};

const ASKED_OF_OBJECTS = ['toJSON', 'toString', 'valueOf', 'constructor'];

/**
 * An object whose members are made by `member(name)` on first use and listed by `names()`. What the
 * language asks of every object is taken for a name only when there is such a name: awaiting, printing and
 * JSON stay quiet; `namesakes()` are the names that are among these. `then` is never a name: awaiting the
 * object would call it. With `called` it is a function as well, which is given the list of its arguments.
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
  // A proxy can be called only when its target can; an arrow function has nothing that cannot be hidden.
  const target = called === undefined ? create(null) : () => undefined;
  return new Proxy(target, freeze({
    __proto__: null,
    get,
    apply: (_, self, args) => called(args),
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

/** Servers of this execution in the host's order: `{name, toolCount, tools, state, namesakes, incomplete}`. */
let serverList = [];
const serverNames = () => arrayMap(serverList, (server) => server.name);
const toolNamesOf = (name) => {
  for (let i = 0; i < serverList.length; i++) if (serverList[i].name === name) return serverList[i].tools;
  return [];
};

/** Warns that the list of a server's tools was cut: what a program looks for may be in the rest. */
const warnOfCut = (name, incomplete) => warn(`not all tools of server \`${name}\` are listed: ${incomplete}`);

/** The same for every server whose list was cut, or for one. */
const warnOfCuts = (only) => {
  for (let i = 0; i < serverList.length; i++) {
    const { name, incomplete } = serverList[i];
    if (incomplete !== undefined && (only === undefined || name === only)) warnOfCut(name, incomplete);
  }
};

/** Names of a server's tools for a program that lists them. */
const listedToolNamesOf = (name) => {
  warnOfCuts(name);
  return toolNamesOf(name);
};

const namesakesOf = (name) => {
  for (let i = 0; i < serverList.length; i++) if (serverList[i].name === name) return serverList[i].namesakes;
  return [];
};

const setServers = (servers) => {
  serverList = arrayMap(isArray(servers) ? servers : [], ({ name, tools, state, namesakes, incomplete }) => ({
    name,
    state,
    incomplete: typeof incomplete === 'string' ? incomplete : undefined,
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

const SEPARATORS = '-_. /';

/** A name without separators, in lower case: what all its styles have in common. */
const foldName = (name) => {
  let folded = '';
  for (let i = 0; i < name.length; i++) if (!stringIncludes(SEPARATORS, name[i])) folded += name[i];
  return stringToLowerCase(folded);
};
const isServerName = (name) => {
  const names = serverNames();
  if (arrayIncludes(names, name)) return true;
  for (let i = 0; i < names.length; i++) if (foldName(names[i]) === foldName(name)) return true;
  return false;
};

/** Members of `tools` that no server has and that nothing was called through. */
const unusedNames = new SafeMap();

const makeServer = (server, label) => {
  const isKnown = isServerName(server);
  if (!isKnown) unusedNames.set(server, label);
  const made = makeDirectory(
    label,
    (tool) => {
      unusedNames.delete(server);
      return makeTool(server, tool, memberLabel(label, tool));
    },
    () => listedToolNamesOf(server),
    // A name that is not a server's may be a tool's, `tools.read_file(…)`: the gateway knows which server has it.
    isKnown ? undefined : (args) => {
      unusedNames.delete(server);
      return callTool(label, toolHead(undefined, server, 'value'), args);
    },
    () => namesakesOf(server),
  );
  describable.set(made, { server });
  return made;
};

/** Names under which the clients of other systems call a tool by its name. */
const BY_NAME = ['call', 'callTool', 'call_tool', 'invoke'];

/**
 * A function of `(server, tool, arguments?)`, of `(fullName, arguments?)`, or of the object `{name, arguments}` that MCP's
 * own clients take.
 */
const makeByName = (label) => (...args) => {
  const first = args[0];
  if (isObject(first) && typeof first.name === 'string') {
    return callTool(label, toolHead(undefined, first.name, 'value'), [first.arguments ?? {}]);
  }
  if (typeof first !== 'string') {
    const got = describeType(first);
    return promiseReject(typeError(`${label} takes the names of a server and a tool and an object of arguments; got ${got}`));
  }
  if (typeof args[1] === 'string') return callTool(label, toolHead(first, args[1], 'value'), [args[2] ?? {}]);
  return callTool(label, toolHead(undefined, first, 'value'), [args[1] ?? {}]);
};

const tools = makeDirectory(
  'tools',
  (name) => {
    const label = memberLabel('tools', name);
    if (isServerName(name)) return makeServer(name, label);
    if (arrayIncludes(BY_NAME, name)) return makeByName(label);
    const isFullName = stringStartsWith(name, 'mcp__') || stringIncludes(name, '.') || stringIncludes(name, '/');
    return isFullName ? makeTool(undefined, name, label) : makeServer(name, label);
  },
  serverNames,
);

/** Warns of names that the program took for servers, as in `if (tools.slack)`, without a call through them. */
const warnOfUnusedNames = () => {
  if (unusedNames.size === 0) return;
  unusedNames.forEach((label, name) => {
    warn(`no server is called \`${name}\`, and \`${label}\` is true all the same: write \`${jsonStringify(name)} in tools\``);
  });
};

/** Adds the full names of tools that the program uses as functions, such as `mcp__server__tool`. */
const addFullNames = (names) => {
  for (let i = 0; i < names.length; i++) {
    if (!hasOwn(globalThis, names[i])) define(globalThis, names[i], makeTool(undefined, names[i], names[i]));
  }
};

const requireText = (value, label) => {
  if (typeof value !== 'string') throw typeError(`${label} takes a string; got ${describeType(value)}`);
  return value;
};

/** `search(query, options?)`: tools that match, best first. */
const search = (query, options) =>
  askWith(OP.search, 'search', () => ({ query: requireText(query, 'search'), ...options }));

/** The parts of `server.tool`; without a separator a server alone. */
const splitName = (name) => {
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
  if (tool !== undefined) return { server: target, tool: requireText(tool, 'describe') };
  // The gateway finds where the name of the server ends.
  return stringStartsWith(target, 'mcp__') ? { tool: target } : splitName(target);
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
  get llm() { return llmBudget(); },
  // What the budgets of the user leave: the gateway counts them, so that each answer is of its time.
  remaining: () => askWith(OP.servers, 'budget.remaining', () => ({ budgets: true })),
});

addFixedGlobals({ tools, callTool: makeByName('callTool'), ToolError, search, describe, store, budget });
