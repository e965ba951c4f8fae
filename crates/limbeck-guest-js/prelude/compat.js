// Functions of the two earlier systems that ran JavaScript. One named a tool by its full name
// (`mcp__server__tool`), the other by server and tool; where a function had the same name in both, the
// arguments tell which is meant.

/** Every content block, or nothing when the result has none. */
const blocksOf = (result) => (isObject(result) && isArray(result.content) ? result.content : undefined);
const isTextBlock = (block) => isObject(block) && block.type === 'text' && typeof block.text === 'string';

const tryParse = (text) => {
  try {
    return jsonParse(text);
  } catch {
    return text;
  }
};

/** The first text block. A JSON object or list in it can be used as such and, by `toString`, as its text. */
const unwrapFirstText = (result) => {
  const first = blocksOf(result)?.[0];
  if (!isTextBlock(first) || first.text === '') return result;
  const parsed = tryParse(first.text);
  if (typeof parsed !== 'object' || parsed === null) return first.text;
  if (!hasOwn(parsed, 'toJSON')) {
    define(parsed, 'toJSON', () => {
      if (encoding === undefined) return parsed;
      encoding.hasTexts = true;
      return encoding.asTexts ? first.text : parsed;
    });
  }
  return define(parsed, 'toString', () => first.text);
};

/** One text block as JSON where it is JSON, one other block as it is, several as a list. */
const unwrapContent = (result) => {
  const blocks = blocksOf(result);
  if (blocks === undefined) return result;
  if (blocks.length !== 1) return blocks;
  return isTextBlock(blocks[0]) ? tryParse(blocks[0].text) : blocks[0];
};

const callByFullName = (name, args) => {
  requireText(name, 'callMCPTool');
  const label = `callMCPTool(${jsonStringify(name)})`;
  const call = callTool(label, toolHead(undefined, name, 'raw'), [args ?? {}]);
  const unwrap = async () => unwrapFirstText(await call);
  return inRaceOf(call, unwrap());
};

const callByServer = (server, tool, args) => {
  requireText(server, 'callMCPTool');
  const label = `callMCPTool(${jsonStringify(server)}, ${jsonStringify(tool)})`;
  const call = callTool(label, toolHead(server, tool, 'raw'), [args ?? {}]);
  return inRaceOf(call, answerOfServer(server, tool, call));
};

const answerOfServer = async (server, tool, call) => {
  try {
    return unwrapContent(await call);
  } catch (error) {
    if (isObject(error) && typeof error.message === 'string') {
      error.message = `MCP call failed (${server}/${tool}): ${error.message}`;
    }
    throw error;
  }
};

/** The key under which users configured an earlier gateway, which a program could call as a server. */
const OWN_SERVER = 'code-executor';
const sumOf = (numbers) => {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) sum += numbers[i];
  return sum;
};
const ownTools = {
  __proto__: null,
  search_tools: async ({ query, server, limit = 10, detail }) => {
    requireText(query, 'search_tools');
    const found = await ask(OP.search, { query, limit: max(1, trunc(limit) || 1), ...(server === undefined ? undefined : { server }) }, 'search_tools');
    const hits = arrayMap(found, (hit) => ({
      server: hit.server,
      tool: hit.tool,
      description: hit.description ?? '',
      ...(detail === 'minimal' ? undefined : { score: hit.score }),
      ...(detail === 'full' ? { inputSchema: hit.inputSchema } : undefined),
    }));
    return { tools: hits, total: hits.length, query };
  },
  get_tool_signature: async ({ server, tool }) => {
    const found = await ask(OP.describe, { server: requireText(server, 'get_tool_signature'), tool: requireText(tool, 'get_tool_signature') }, 'describe');
    const { signature, description, inputSchema, outputSchema, annotations } = found;
    return { server, tool, signature, description, inputSchema, outputSchema, annotations };
  },
  list_servers: async () => ({
    servers: arrayMap(serverList, ({ name, state, toolCount, tools: names }) => (
      { name, status: state === 'ready' ? 'connected' : 'disconnected', toolCount, tools: arraySlice(names) }
    )),
    available: listServers().available,
    totalTools: sumOf(arrayMap(serverList, ({ toolCount }) => toolCount)),
  }),
};

/** The call of a tool that an earlier gateway had itself; nothing for any other, or where a server has its name. */
const ownCall = (first, second, third) => {
  if (arrayIncludes(serverNames(), OWN_SERVER)) return undefined;
  const prefix = `mcp__${OWN_SERVER}__`;
  if (first === OWN_SERVER && typeof second === 'string') {
    const tool = ownTools[second];
    return tool && (() => tool(third ?? {}));
  }
  if (typeof first !== 'string' || !stringStartsWith(first, prefix)) return undefined;
  const tool = ownTools[stringSlice(first, prefix.length)];
  // In the form of S0 the text of a result is a value and its text.
  return tool && (async () => unwrapFirstText({ content: [{ type: 'text', text: jsonStringify(await tool(second ?? {})) }] }));
};

/** `callMCPTool(fullName, args?)` or `callMCPTool(server, tool, args?)`. A tool's `isError` is not thrown. */
const callMCPTool = (first, second, third) => {
  try {
    const own = ownCall(first, second, third);
    if (own !== undefined) return own();
    return typeof second === 'string' ? callByServer(first, second, third) : callByFullName(first, second);
  } catch (error) {
    return promiseReject(error);
  }
};

/** One tool in the shape both systems used, from any form the gateway lists tools in. */
const toolSchema = (server, found) => {
  const name = found.tool ?? found.name;
  const schema = found.inputSchema ?? found.parameters;
  const entry = {
    name: stringStartsWith(name, 'mcp__') ? name : `mcp__${found.server ?? server}__${name}`,
    description: found.description ?? '',
    parameters: schema,
    inputSchema: schema,
  };
  if (isObject(found.outputSchema)) entry.outputSchema = found.outputSchema;
  if (isObject(found.annotations)) entry.annotations = found.annotations;
  return entry;
};

/** What `describe(server)` lists; nothing for a server that cannot be listed. */
const listTools = async (server) => {
  try {
    const listing = await ask(OP.describe, { server, detail: 'full' }, 'describe');
    if (typeof listing?.incomplete === 'string') warnOfCut(server, listing.incomplete);
    return arrayMap(listing?.tools ?? [], (found) => ({ ...found, server }));
  } catch {
    return [];
  }
};

/** Tools that mention any of the words, of every server, in the host's order. */
const toolsWith = async (words) => {
  const lists = await promiseAll(arrayMap(serverNames(), listTools));
  const found = [];
  for (let i = 0; i < lists.length; i++) {
    for (let j = 0; j < lists[i].length; j++) if (mentions(lists[i][j], words)) arrayPush(found, lists[i][j]);
  }
  return found;
};

const mentions = ({ server, tool, description }, words) => {
  if (words.length === 0) return true;
  const text = stringToLowerCase(`mcp__${server}__${tool} ${description}`);
  for (let i = 0; i < words.length; i++) if (stringIncludes(text, stringToLowerCase(words[i]))) return true;
  return false;
};

// The host bounds the calls that may wait at once; this is well below it.
const SCHEMAS_AT_ONCE = 100;

/** Adds the schemas a listing left out, one call for each tool. */
const withSchemas = async (found) => {
  const schemas = [];
  for (let i = 0; i < found.length; i += SCHEMAS_AT_ONCE) {
    const some = arraySlice(found, i, i + SCHEMAS_AT_ONCE);
    const described = await promiseAll(arrayMap(some, ({ server, tool, inputSchema, parameters, ...rest }) => (
      inputSchema === undefined && parameters === undefined
        ? getToolSchema(server, tool)
        : toolSchema(server, { tool, inputSchema, parameters, ...rest })
    )));
    for (let j = 0; j < described.length; j++) if (described[j] !== null) arrayPush(schemas, described[j]);
  }
  return schemas;
};

/** `discoverMCPTools({search?})`: tools whose name or description has any of the words. */
const discoverMCPTools = async (options) => {
  const asked = options?.search ?? [];
  const words = arrayMap(isArray(asked) ? asked : [asked], (word) => `${word}`);
  return withSchemas(await toolsWith(words));
};

/** `searchTools(query, limit = 10)`: tools that match the query, best first. */
const searchTools = async (query, limit = 10) => {
  const wanted = max(0, trunc(limit) || 0);
  requireText(query, 'searchTools');
  if (wanted === 0) return [];
  warnOfCuts();
  return withSchemas(await ask(OP.search, { query, limit: wanted }, 'searchTools'));
};

/** `getToolSchema(fullName)` or `getToolSchema(server, tool)`; null for an unknown tool. */
const getToolSchema = async (first, second) => {
  requireText(first, 'getToolSchema');
  const target = second === undefined ? { tool: first } : { server: first, tool: second };
  try {
    const found = await ask(OP.describe, target, 'describe');
    return isObject(found) ? toolSchema(target.server, found) : null;
  } catch (error) {
    if (error?.code === 'unknown_tool' || error?.code === 'unknown_server') return null;
    throw error;
  }
};

/** States of servers that a call does not reach, as `servers()` names them. */
const OUT_OF_REACH = ['not_configured', 'disabled', 'untrusted', 'unsupported', 'failed', 'stopped'];

/**
 * `listServers()`: plain data, so that it can be awaited or not. `connected` has the servers that are connected, `available`
 * those that a call reaches, connected or not yet, as they were when the program started.
 */
const listServers = () => ({
  connected: arrayMap(arrayFilter(serverList, ({ state }) => state === 'ready'), ({ name, toolCount, tools: names, incomplete }) => {
    const entry = { name, status: 'connected', toolCount, tools: arraySlice(names) };
    if (incomplete !== undefined) {
      entry.incomplete = incomplete;
      warnOfCut(name, incomplete);
    }
    return entry;
  }),
  available: arrayMap(arrayFilter(serverList, ({ state }) => !arrayIncludes(OUT_OF_REACH, state)), ({ name }) => name),
  all: serverNames(),
});

addFixedGlobals({ callMCPTool, discoverMCPTools, searchTools, getToolSchema, listServers });
