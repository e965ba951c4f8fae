// Answers of tools that a program takes for texts. A tool with declared fields gives an object. Put into a text it would be
// `[object Object]` in silence, so it gives its text or its JSON there, with a warning.

/** Answers by the calls that they came from. */
const answerLabels = new WeakMap();
/** The last answers that were an object around a single text, and around a single list, for hints. */
let lastWithText;
let lastWithList;
/** The last call that answered with the text of a JSON object or list, for hints. */
let lastJsonText;

/** Name of the only field of which `fits` is true; undefined without one and with several. */
const onlyField = (value, fits) => {
  const names = keys(value);
  let found;
  for (let i = 0; i < names.length; i++) {
    if (fits(value[names[i]])) {
      if (found !== undefined) return undefined;
      found = names[i];
    }
  }
  return found;
};
const isText = (value) => typeof value === 'string';

/** Text of an answer. One function for all of them: a program may have thousands of answers. */
const { toString: answerToString } = {
  toString() {
    const field = onlyField(this, isText);
    const as = field === undefined ? 'its JSON: take the field that is meant' : `its \`${field}\`: take that field`;
    warn(`the result of \`${weakGet(answerLabels, this)}\` is an object and was put into a text, as ${as}`);
    return field === undefined ? jsonStringify(this) : this[field];
  },
};

/** Gives an answer of a tool its text, and remembers for hints what it has. */
const nameAnswer = (value, label) => {
  if (isText(value)) {
    if (regexpExec(/^\s*[[{]/, stringSlice(value, 0, 100)) !== null) lastJsonText = label;
    return;
  }
  if (!isObject(value) || isArray(value) || hasOwn(value, 'toString')) return;
  weakSet(answerLabels, value, label);
  native.hide(value, 'toString', answerToString);
  const only = native.onlyFields(value);
  if (only === undefined) return;
  if (only[0] !== undefined) lastWithText = { label, field: only[0] };
  if (only[1] !== undefined) lastWithList = { label, field: only[1] };
};

/** What `JSON.parse` gives for an answer; undefined for another value. */
const parseAnswer = (value) => {
  const label = isObject(value) ? weakGet(answerLabels, value) : undefined;
  if (label === undefined) return undefined;
  const field = onlyField(value, isText);
  if (field === undefined) return { parsed: value };
  try {
    const parsed = jsonParse(value[field]);
    if (!isObject(parsed)) return { parsed: value };
    warn(`\`JSON.parse\` was given the result of \`${label}\`, which is an object; its \`${field}\` was parsed`);
    return { parsed, isOfField: true };
  } catch {
    return { parsed: value };
  }
};

/** Contents of a resource under the names that they have in MCP's own result, beside what they are: a list. */
const nameContents = (contents) => {
  if (!isArray(contents)) return contents;
  define(contents, 'contents', contents);
  if (contents.length === 1 && isText(contents[0]?.text)) {
    define(contents, 'text', contents[0].text);
    // For `JSON.parse` too, which takes its argument as a text.
    define(contents, 'toString', () => {
      warn('the contents of a resource were put into a text, as their `text`: take that field');
      return contents[0].text;
    });
  }
  return contents;
};

addMethods(Promise.prototype, {
  toString() {
    warn('a promise was put into a text as `[object Promise]`: write `await` before the call');
    return '[object Promise]';
  },
});

// A program that reads `.content` of a promise means the answer. All names that promises have are found before this.
setPrototypeOf(Promise.prototype, new Proxy(create(Object.prototype), freeze({
  __proto__: null,
  get(target, name, self) {
    if (typeof name !== 'string' || name in target) return reflectGet(target, name, self);
    warn(`\`${stringSlice(name, 0, 40)}\` was read of a promise, which has no such property: write \`await\` before the call`);
    return undefined;
  },
})));

const AsyncFunction = getPrototypeOf(async () => {});

/** Methods of lists that decide by what their callback gives, and would take its promise for true. */
const DECIDING_METHODS = ['filter', 'some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex'];

const watchCallbacksOf = (name) => {
  const original = Array.prototype[name];
  addMethods(Array.prototype, {
    [name](callback, ...more) {
      if (typeof callback === 'function' && getPrototypeOf(callback) === AsyncFunction) {
        warn(`the callback of \`${name}\` is async, and \`${name}\` takes its promise for true: compute the answers first, with `
          + '`await Promise.all(list.map(async (item) => …))`');
      }
      return apply(original, this, [callback, more[0]]);
    },
  });
};
for (const name of DECIDING_METHODS) watchCallbacksOf(name);

const OBJECT_TEXT = '[object Object]';

/** Characters of a text that are looked through: a program may print a gigabyte, of which the reader gets as little. */
const LOOKED_THROUGH_MAX = 16_384;

const placeIn = (where, label) => (label === undefined ? where : `${where} of ${label}`);

/** Warns of objects that became texts in what a program shows. */
const warnOfObjectText = (text, where, label) => {
  const shown = text.length > LOOKED_THROUGH_MAX ? stringSlice(text, 0, LOOKED_THROUGH_MAX) : text;
  if (native.includes(shown, OBJECT_TEXT)) {
    warn(`${placeIn(where, label)} has the text \`${OBJECT_TEXT}\`, which an object gives in a text: put a field of it there, or \`JSON.stringify(…)\``);
  }
};

const NODES_READ_MAX = 100_000;
const NODE_DEPTH_MAX = 128;

/** Keys that lead to the first number or function that JSON writes as null, the last one first, with its name. */
const firstNotFinite = (value) => {
  let left = NODES_READ_MAX;
  const visit = (current, depth, isItem) => {
    if (typeof current === 'number') return isFiniteNumber(current) ? undefined : { what: `${current}, which JSON has no number for: it became null`, path: [] };
    if (typeof current === 'function' && isItem) {
      return { what: 'a function, which became null: call it, and `await` what it gives', path: [] };
    }
    left -= 1;
    if (typeof current !== 'object' || current === null || depth > NODE_DEPTH_MAX || left < 0) return undefined;
    const plain = isMap(current) ? mapToJson(current) : isSet(current) ? setToJson(current) : current;
    const names = keys(plain);
    for (let i = 0; i < names.length; i++) {
      const found = visit(plain[names[i]], depth + 1, isArray(plain));
      if (found !== undefined) {
        arrayPush(found.path, isArray(plain) ? +names[i] : names[i]);
        return found;
      }
    }
    return undefined;
  };
  try {
    return visit(value, 0, false);
  } catch {
    return undefined;
  }
};

/** Warns of `NaN`, `Infinity` and functions in a value that has a `null` in its JSON text. */
const warnOfNotFinite = (value, root, label) => {
  const found = firstNotFinite(value);
  if (found === undefined) return;
  let path = root;
  for (let i = found.path.length - 1; i >= 0; i--) path = step(path, found.path[i]);
  warn(`${placeIn(`\`${path}\``, label)} is ${found.what}`);
};

/** Warns of what became something else in the JSON text of a value, which may be sent in a call of `label`. */
const warnOfLosses = (value, text, where, root, label) => {
  if (typeof text !== 'string' || !native.mayHaveLost(text)) return;
  warnOfObjectText(text, where, label);
  if (native.includes(text, 'null')) warnOfNotFinite(value, root, label);
};
