// `servers`: the list of servers, and the resources and prompts of each.

/** Sends a read request to a server. Only the texts in `params` come from the program. */
const readFrom = (server, label, method, params) => askWith(OP.read, label, () => (
  { server, method, params: setPrototypeOf(params(), null) }
));

const requirePromptArguments = (value, label) => {
  if (value === undefined || (isObject(value) && !isArray(value) && typeof value !== 'function')) return value;
  throw typeError(`${label} takes an object of arguments, such as { name: 'value' }; got ${describeType(value)}`);
};

/** Resources and prompts of one server. Every function gives a promise. */
const makeOffers = (server, label) => {
  const resources = {
    __proto__: null,
    list: () => readFrom(server, `${label}.resources.list`, 'resources/list', () => ({})),
    templates: () => readFrom(server, `${label}.resources.templates`, 'resources/templates/list', () => ({})),
    read: (uri) => {
      const contents = readFrom(server, `${label}.resources.read`, 'resources/read', () => (
        { uri: requireText(uri, `${label}.resources.read`) }
      ));
      const named = async () => nameContents(await contents);
      return inRaceOf(contents, named());
    },
  };
  const prompts = {
    __proto__: null,
    list: () => readFrom(server, `${label}.prompts.list`, 'prompts/list', () => ({})),
    get: (name, values) => readFrom(server, `${label}.prompts.get`, 'prompts/get', () => {
      const params = { name: requireText(name, `${label}.prompts.get`) };
      const given = requirePromptArguments(values, `${label}.prompts.get`);
      return given === undefined ? params : { ...params, arguments: given };
    }),
  };
  const offers = { __proto__: null, resources: freeze(resources), prompts: freeze(prompts) };
  // The engine asks a function for its name, and `servers.name` may be a server.
  define(offers, 'toString', () => `[${label}]`);
  // Names that MCP's own clients have.
  const instead = {
    readResource: 'resources.read(uri)', listResources: 'resources.list()', getPrompt: 'prompts.get(name, { … })', listPrompts: 'prompts.list()',
  };
  const names = keys(instead);
  for (let i = 0; i < names.length; i++) {
    define(offers, names[i], () => promiseReject(typeError(`${label}.${names[i]} is written \`${label}.${instead[names[i]]}\``)));
  }
  return freeze(offers);
};

/** `servers()` lists them; `servers.name` is one. */
const servers = makeDirectory(
  'servers',
  (server) => makeOffers(server, memberLabel('servers', server)),
  serverNames,
  () => ask(OP.servers, {}, 'servers'),
);

addFixedGlobals({ servers });
