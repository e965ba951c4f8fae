// `servers`: the list of servers, and the resources and prompts of each.

/** Sends a read request to a server. Only the texts in `params` come from the program. */
const readFrom = (server, label, method, params) => askWith(OP.read, label, () => (
  { server, method, params: setPrototypeOf(params(), null) }
));

const requirePromptArguments = (value, label) => {
  if (value === undefined || (isObject(value) && !isArray(value) && typeof value !== 'function')) return value;
  throw typeError(`${label} takes an object of arguments, such as { name: 'value' }; got ${describeType(value)}`);
};

/** Fields of the JSON in a resource's text that are named, and characters of such a text. */
const HELD_FIELDS_MAX = 20;
const HELD_CHARS_MAX = 65_536;

const nameHeldField = (target, name) => {
  if (name in target) return;
  defineProperty(target, name, {
    __proto__: null,
    configurable: true,
    get() {
      warn(`\`${stringSlice(name, 0, 40)}\` was read of the contents of a resource, whose text is JSON that has it: write \`JSON.parse(contents[0].text)\``);
      return undefined;
    },
    set(value) {
      defineProperty(this, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    },
  });
};

/** Has the contents of a resource warn of a read of a field that only the JSON in its text has. */
const nameHeldFields = (contents) => {
  if (!isArray(contents) || contents.length !== 1) return contents;
  const text = contents[0]?.text;
  if (typeof text !== 'string' || text.length > HELD_CHARS_MAX) return contents;
  if (regexpExec(/^\s*\{/, stringSlice(text, 0, 100)) === null) return contents;
  try {
    const names = keys(jsonParse(text));
    for (let i = 0; i < names.length && i < HELD_FIELDS_MAX; i++) {
      nameHeldField(contents, names[i]);
      nameHeldField(contents[0], names[i]);
    }
  } catch {
    // No JSON.
  }
  return contents;
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
      const named = async () => nameHeldFields(nameContents(await contents));
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
