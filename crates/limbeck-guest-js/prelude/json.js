// JSON on its way out: arguments of calls and the value a program returns.
//
// It is `JSON.stringify` with three additions, because an empty `{}` in their place would lose data in
// silence: a Map is an object when all its keys are strings and else a list of pairs, a Set is a list,
// an Error is an object with its name and message. They hold while `encode` runs; a program's own
// `JSON.stringify` behaves as everywhere.

let encoding = false;

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

addMethods(Map.prototype, { toJSON() { return encoding && isMap(this) ? mapToJson(this) : this; } });
addMethods(Set.prototype, { toJSON() { return encoding && isSet(this) ? setToJson(this) : this; } });
addMethods(Error.prototype, { toJSON() { return encoding ? errorToJson(this) : this; } });

/** Runs `work` while they hold. A value may make calls when it is read, so this nests. */
const whileEncoding = (work) => {
  const outer = encoding;
  encoding = true;
  try {
    return work();
  } finally {
    encoding = outer;
  }
};

/** JSON text of `value`, or `undefined` for what JSON leaves out. */
const encode = (value) => whileEncoding(() => jsonStringify(value));

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
  try {
    return whileEncoding(() => visit(value, root, ''));
  } catch {
    return undefined;
  }
};
