// `artifacts`: what was kept whole of an earlier answer or of a tool's result, and what programs keep
// themselves; `emit`: a block for the client beside what the program returns.

const { atob: decodeBase64 } = globalThis;
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

/** Ids of what `artifacts.open` gave, for `emit` and for opening a handle again. */
const openedIds = new SafeMap();

/** The id in a text, a handle such as a tool's result has for an image, or what `open` gave. */
const artifactIdOf = (target, label) => {
  const id = openedIds.get(target) ?? (isObject(target) ? target.artifact ?? target.id : target);
  if (typeof id === 'string' && regexpExec(ARTIFACT_ID, id) !== null) return id;
  const got = typeof id === 'string' ? jsonStringify(stringSlice(id, 0, 60)) : describeType(target);
  throw new ToolError(`${label} takes an artifact's id; got ${got}`, {
    __proto__: null,
    code: 'invalid_arguments',
    hint: 'ids look like `art_` and 32 digits; `artifacts.list()` lists the artifacts',
  });
};

const readArtifact = (id, action, more) =>
  askWith(OP.artifact, `artifact.${action}`, () => ({ do: action, id, ...more?.() }));

async function* artifactItems(id) {
  let from = 0;
  while (from !== undefined) {
    const start = from;
    const { items, next } = await readArtifact(id, 'items', () => ({ from: start }));
    for (let i = 0; i < items.length; i++) yield items[i];
    from = next;
  }
}

const base64Bytes = (text) => {
  const binary = decodeBase64(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = stringCodeAt(binary, i);
  return bytes;
};

/** What can be read of an artifact. Nothing is read before it is asked for. */
const openArtifact = (target) => {
  const id = artifactIdOf(target, 'artifacts.open');
  const opened = {
    __proto__: null,
    id,
    info: () => readArtifact(id, 'info'),
    json: () => readArtifact(id, 'json'),
    text: () => readArtifact(id, 'text'),
    base64: () => readArtifact(id, 'base64'),
    bytes: () => {
      const content = readArtifact(id, 'base64');
      const decoded = async () => base64Bytes(await content);
      return inRaceOf(content, decoded());
    },
    select: (path) => readArtifact(id, 'select', () => ({ path: requireText(path, 'artifact.select') })),
  };
  define(opened, Symbol.asyncIterator, () => artifactItems(id));
  define(opened, 'toJSON', () => ({ artifact: id }));
  define(opened, 'toString', () => `[artifact ${id}]`);
  freeze(opened);
  openedIds.set(opened, id);
  return opened;
};

const artifacts = freeze({
  open: openArtifact,
  list: () => ask(OP.artifact, { do: 'list' }, 'artifacts.list'),
  save: (value, name) => askWith(OP.artifact, 'artifacts.save', () => ({
    do: 'save',
    value: value === undefined ? null : value,
    ...(name === undefined ? undefined : { name: requireText(name, 'artifacts.save') }),
  })),
});

/** `emit(block)`: a text, a content block (`{type: "image", data, mimeType}` …) or an artifact. */
const emit = (block) => askWith(OP.emit, 'emit', () => {
  if (block === undefined || block === null) throw typeError('emit takes a text, a content block or an artifact');
  return { block };
});

addFixedGlobals({ artifacts, emit });
