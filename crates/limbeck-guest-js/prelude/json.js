// JSON on its way out: arguments of calls and the value a program returns.
//
// It is `JSON.stringify` with four additions, because an empty `{}` in their place would lose data in
// silence: a Map is an object when all its keys are strings and else a list of pairs, a Set is a list,
// an Error is an object with its name and message, and a promise is what it settled with. They hold while
// `encode` runs; a program's own `JSON.stringify` behaves as everywhere.

const NO_PROMISES = freeze([]);

/**
 * A value being encoded: `text` is its JSON text, `promises` those in it that have not been awaited yet. With `asTexts` the JSON
 * text of `callMCPTool` is encoded as that text; `hasTexts` is whether there was one in the value.
 */
const newEncoding = (asTexts) => ({ __proto__: null, text: undefined, promises: NO_PROMISES, asTexts, hasTexts: false });
let encoding;
/** What the promises of a value settled with. */
const settledValues = new WeakMap();

const mapToJson = (map) => {
  const pairs = [];
  let keyed = true;
  mapForEach(map, (value, key) => {
    keyed &&= typeof key === 'string';
    arrayPush(pairs, [key, value]);
  });
  if (!keyed) return pairs;
  const object = create(null);
  for (let i = 0; i < pairs.length; i++) object[pairs[i][0]] = pairs[i][1];
  return object;
};

const setToJson = (set) => {
  const list = [];
  setForEach(set, (value) => arrayPush(list, value));
  return list;
};

const errorToJson = (error) => {
  const json = { __proto__: null, name: error.name, message: error.message };
  if (error.cause !== undefined) json.cause = error.cause;
  if (error.errors !== undefined) json.errors = error.errors;
  return assign(json, error);
};

addMethods(Map.prototype, { toJSON() { return encoding !== undefined && isMap(this) ? mapToJson(this) : this; } });
addMethods(Set.prototype, { toJSON() { return encoding !== undefined && isSet(this) ? setToJson(this) : this; } });
addMethods(Error.prototype, { toJSON() { return encoding !== undefined ? errorToJson(this) : this; } });
addMethods(Promise.prototype, {
  toJSON(key) {
    if (!(this instanceof Promise)) return this;
    if (encoding === undefined) {
      warn('a promise was put into a text by `JSON.stringify`, as `{}`: write `await` before the call');
      return this;
    }
    if (!weakHas(settledValues, this)) {
      if (encoding.promises === NO_PROMISES) encoding.promises = [];
      arrayPush(encoding.promises, this);
      return null;
    }
    const value = weakGet(settledValues, this);
    // The engine asks once for `toJSON`: that of the promise, and not that of what it settled with.
    return isObject(value) && typeof value.toJSON === 'function' ? apply(value.toJSON, value, [key]) : value;
  },
});

/**
 * Encodes `value`. Its `text` is `undefined` for what JSON leaves out; with `promises` it is encoded again when these are
 * awaited. A value may make calls when it is read, so this nests.
 */
const encodeMeeting = (value, asTexts = false) => {
  const outer = encoding;
  const own = newEncoding(asTexts);
  encoding = own;
  try {
    own.text = jsonStringify(value);
    return own;
  } finally {
    encoding = outer;
  }
};

/** JSON text of `value`, or `undefined` for what JSON leaves out. */
const encode = (value) => encodeMeeting(value).text;

/** Rounds in which promises inside of a value are awaited: what one settles with may hold others. */
const SETTLE_ROUNDS_MAX = 100;

/** Awaits promises that were met in a value, so that it can be encoded again. Throws what one was rejected with. */
const settleMet = async (promises) => {
  for (let i = 0; i < promises.length; i++) weakSet(settledValues, promises[i], await promises[i]);
};

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const isIdentifier = (text) => regexpExec(IDENTIFIER, text) !== null;
const step = (path, key) => {
  if (typeof key === 'number') return `${path}[${key}]`;
  return isIdentifier(key) ? `${path}.${key}` : `${path}[${jsonStringify(key)}]`;
};

/**
 * Says why `encode(value)` failed, naming the place: `value.items[3].id is a BigInt; …`.
 * `undefined` when the fault is not the value's shape but something it threw.
 */
const explain = (value, root) => {
  const ancestors = new SafeMap();
  const visit = (current, path, key) => {
    if (isObject(current) || typeof current === 'bigint') {
      const { toJSON } = current;
      if (typeof toJSON === 'function') current = apply(toJSON, current, [key]);
    }
    if (typeof current === 'bigint') return `${path} is a BigInt; convert it with String() or Number()`;
    if (typeof current !== 'object' || current === null) return undefined;
    if (ancestors.has(current)) return `${path} refers back to ${ancestors.get(current)}; JSON cannot hold a cycle`;
    ancestors.set(current, path);
    const names = keys(current);
    for (let i = 0; i < names.length; i++) {
      const found = visit(current[names[i]], step(path, isArray(current) ? +names[i] : names[i]), names[i]);
      if (found !== undefined) return found;
    }
    ancestors.delete(current);
    return undefined;
  };
  const outer = encoding;
  encoding = newEncoding(false);
  try {
    return visit(value, root, '');
  } catch {
    return undefined;
  } finally {
    encoding = outer;
  }
};

/** Texts that `JSON.parse` refused, by the error, for a hint. */
const refusedTexts = new WeakMap();

const PARSED_ALREADY = '`JSON.parse` was given a value that is parsed already, and returned it; a result with declared fields is no text';

// Results of tools are often parsed already, and programs parse them again. What is not a text is given back; a text
// that is not JSON is kept for the hint of the error.
addMethods(JSON, {
  parse(text, reviver) {
    const answer = parseAnswer(text);
    if (answer !== undefined) {
      if (!answer.isOfField) warn(PARSED_ALREADY);
      return answer.parsed;
    }
    try {
      return reviver === undefined ? jsonParse(text) : jsonParse(text, reviver);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      if (typeof text === 'object' && text !== null && !(text instanceof String) && !(text instanceof Promise)) {
        warn(PARSED_ALREADY);
        return text;
      }
      weakSet(refusedTexts, error, `${text}`);
      throw fixStack(error, error.stack);
    }
  },
});
