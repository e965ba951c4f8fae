// `workspace`: files that outlive the program.

const WORKSPACE_CHUNK = 8_192;
const { btoa: encodeBase64 } = globalThis;
const { fromCharCode: stringFromCodes } = String;

/** Base64 of bytes. */
const bytesBase64 = (bytes) => {
  let binary = '';
  for (let i = 0; i < bytes.length; i += WORKSPACE_CHUNK) {
    binary += apply(stringFromCodes, undefined, arrayFrom(new Uint8Array(bytes.buffer, bytes.byteOffset + i, min(WORKSPACE_CHUNK, bytes.length - i))));
  }
  return encodeBase64(binary);
};




const askWorkspace = (action, path, more) =>
  askWith(OP.workspace, `workspace.${action}`, () => ({ do: action, path: requireText(path, `workspace.${action}`), ...more }));

const readFile = async (path) => {
  const { text, base64 } = await askWorkspace('read', path);
  return { text, base64 };
};

const workspace = freeze({
  /** The text of a file. */
  read: async (path) => {
    const { text, base64 } = await readFile(path);
    return text ?? new TextDecoder().decode(base64Bytes(base64));
  },
  /** The bytes of a file. */
  readBytes: async (path) => {
    const { text, base64 } = await readFile(path);
    return text === undefined ? base64Bytes(base64) : new TextEncoder().encode(text);
  },
  /** Writes a text, bytes, or the JSON of another value. */
  write: (path, content) => {
    if (typeof content === 'string') return askWorkspace('write', path, { text: content });
    if (isTypedArray(content)) return askWorkspace('write', path, { base64: bytesBase64(content) });
    const text = jsonStringify(content, null, 2);
    if (text === undefined) return promiseReject(typeError(`workspace.write takes a text, bytes or a value; got ${describeType(content)}`));
    return askWorkspace('write', path, { text });
  },
  /** Files, or those below a folder: `[{path, bytes}]`. */
  list: (path = '') => askWorkspace('list', path),
  remove: (path) => askWorkspace('remove', path),
});

addFixedGlobals({ workspace });
