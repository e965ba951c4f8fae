// Values as text for people and models: what `console.log` prints. Close to what Node prints, always
// bounded, and free of side effects: getters are named, not called.

const TEXT_CHARS_MAX = 32768;
const DEPTH_MAX = 6;
const ITEMS_MAX = 100;
const LINE_CHARS_MAX = 76;
const NESTED_STRING_CHARS_MAX = 10000;

const quote = (text) => {
  const json = jsonStringify(text);
  if (stringIncludes(text, "'")) return json;
  return `'${stringReplaceAll(stringSlice(json, 1, -1), '\\"', '"')}'`;
};

const inspectString = (text) => {
  if (text.length <= NESTED_STRING_CHARS_MAX) return quote(text);
  const rest = text.length - NESTED_STRING_CHARS_MAX;
  return `${quote(stringSlice(text, 0, NESTED_STRING_CHARS_MAX))}... ${rest} more characters`;
};

const inspectPrimitive = (value) => {
  switch (typeof value) {
    case 'string': return inspectString(value);
    case 'bigint': return `${value}n`;
    case 'symbol': return symbolToString(value);
    case 'number': return value === 0 && 1 / value < 0 ? '-0' : `${value}`;
    default: return `${value}`;
  }
};

const isError = (value) => value instanceof Error;

/** The first line and the frames of an error, as engines print them. */
const errorText = (error) => {
  let title;
  try {
    title = errorToString(error);
  } catch {
    title = 'Error';
  }
  const frames = programFrames(readText(error, 'stack'));
  return frames === '' ? title : `${title}\n${frames}`;
};

/** The same as a value among others: in brackets when it is one line. */
const errorLabel = (error) => {
  const text = errorText(error);
  return stringIncludes(text, '\n') ? text : `[${text}]`;
};

/** Name of the class an object was made by; empty for plain objects. */
const className = (value) => {
  const prototype = getPrototypeOf(value);
  if (prototype === null) return '[Object: null prototype]';
  const made = getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  if (typeof made !== 'function') return '';
  const name = getOwnPropertyDescriptor(made, 'name')?.value;
  return typeof name === 'string' && name !== 'Object' ? name : '';
};

class Inspector {
  constructor(depthMax) {
    this.depthMax = depthMax;
    this.ancestors = new SafeMap();
    // Spent by every piece of text: a wide and deep value stops early, not after gigabytes.
    this.left = TEXT_CHARS_MAX * 2;
  }

  value(value, depth) {
    if (!isObject(value)) return this.spend(inspectPrimitive(value));
    const atom = atomText(value);
    if (atom !== undefined) return this.spend(atom);
    if (this.ancestors.has(value)) return '[Circular]';
    if (this.left <= 0) return '...';
    this.ancestors.set(value, true);
    const text = this.object(value, depth);
    this.ancestors.delete(value);
    return text;
  }

  spend(text) {
    this.left -= text.length;
    return text;
  }

  object(value, depth) {
    // Functions and errors are a text of their own, with braces only around properties added to them.
    const label = typeof value === 'function' ? functionLabel(value) : isError(value) ? errorLabel(value) : undefined;
    if (label !== undefined) {
      this.spend(label);
      const parts = this.properties(value, depth, []);
      return parts.length === 0 ? label : layOut(`${label} `, '{', '}', parts);
    }
    const [prefix, open, close, parts] = this.parts(value, depth);
    this.properties(value, depth, parts);
    return parts.length === 0 ? `${prefix}${open}${close}` : layOut(prefix, open, close, parts);
  }

  /** What the value's class adds: a prefix, brackets, and its items. */
  parts(value, depth) {
    const name = className(value);
    const prefix = name === '' ? '' : `${name} `;
    if (isArray(value)) {
      return [name === 'Array' ? '' : `${name}(${value.length}) `, '[', ']', this.items(value, value.length, depth)];
    }
    if (isMap(value)) return [`Map(${mapSize(value)}) `, '{', '}', this.mapItems(value, depth)];
    if (isSet(value)) return [`Set(${setSize(value)}) `, '{', '}', this.setItems(value, depth)];
    if (isTypedArray(value)) {
      const length = typedArrayLength(value);
      return [`${typedArrayName(value)}(${length}) `, '[', ']', this.items(value, length, depth)];
    }
    if (isBuffer(value)) return ['ArrayBuffer ', '{', '}', [`byteLength: ${bufferBytes(value)}`]];
    if (value instanceof Promise) return ['Promise ', '{', '}', ['<pending or settled>']];
    return [prefix, '{', '}', []];
  }

  items(list, length, depth) {
    const parts = [];
    if (length > 0 && depth >= this.depthMax) return [`... ${length} items`];
    const shown = min(length, ITEMS_MAX);
    for (let i = 0; i < shown && this.left > 0; i++) {
      arrayPush(parts, i in list ? this.value(list[i], depth + 1) : '<empty>');
    }
    if (parts.length < length) arrayPush(parts, `... ${length - parts.length} more items`);
    return parts;
  }

  mapItems(map, depth) {
    const parts = [];
    mapForEach(map, (value, key) => {
      if (parts.length < ITEMS_MAX && this.left > 0) {
        arrayPush(parts, `${this.value(key, depth + 1)} => ${this.value(value, depth + 1)}`);
      }
    });
    const rest = mapSize(map) - parts.length;
    if (rest > 0) arrayPush(parts, `... ${rest} more items`);
    return parts;
  }

  setItems(set, depth) {
    const parts = [];
    setForEach(set, (value) => {
      if (parts.length < ITEMS_MAX && this.left > 0) arrayPush(parts, this.value(value, depth + 1));
    });
    const rest = setSize(set) - parts.length;
    if (rest > 0) arrayPush(parts, `... ${rest} more items`);
    return parts;
  }

  /** Appends the value's own properties to `parts`. */
  properties(value, depth, parts) {
    const names = propertyNames(value);
    if (names.length > 0 && depth >= this.depthMax) {
      arrayPush(parts, `... ${names.length} properties`);
      return parts;
    }
    for (let i = 0; i < names.length; i++) {
      if (i >= ITEMS_MAX || this.left <= 0) {
        arrayPush(parts, `... ${names.length - i} more properties`);
        return parts;
      }
      const key = names[i];
      const name = typeof key === 'symbol' ? `[${symbolToString(key)}]` : isIdentifier(key) ? key : quote(key);
      arrayPush(parts, `${this.spend(name)}: ${this.property(value, key, depth)}`);
    }
    return parts;
  }

  property(value, key, depth) {
    const found = getOwnPropertyDescriptor(value, key);
    if (found === undefined) return 'undefined';
    // What it has of its own; a program may have given every object a `get`.
    if (hasOwn(found, 'value')) return this.value(found.value, depth + 1);
    if (found.get === undefined) return '[Setter]';
    return found.set === undefined ? '[Getter]' : '[Getter/Setter]';
  }
}
freeze(Inspector.prototype);

/** Text of objects that are printed as one word; undefined for the others. */
const atomText = (value) => {
  const known = directoryLabels.get(value);
  if (known !== undefined) return inspectDirectory(known);
  if (describable.has(value)) return functionLabel(value);
  if (isDate(value)) return dateGetTime(value) === dateGetTime(value) ? dateToISOString(value) : 'Invalid Date';
  if (value instanceof RegExp) return regexpToString(value);
  if (value instanceof URL || value instanceof URLSearchParams) return `${className(value)} ${quote(`${value}`)}`;
  return undefined;
};

/** Keys to show: the enumerable ones, without indexes that are shown as items. */
const propertyNames = (value) => {
  if (isTypedArray(value)) return [];
  const listed = isArray(value);
  const failed = isError(value);
  const names = arrayFilter(ownKeys(value), (key) => {
    if (failed && key === 'stack') return false;
    if (listed && typeof key === 'string' && `${key >>> 0}` === key) return false;
    return getOwnPropertyDescriptor(value, key)?.enumerable === true;
  });
  if (failed) {
    if (hasOwn(value, 'cause')) arrayPush(names, 'cause');
    if (hasOwn(value, 'errors')) arrayPush(names, 'errors');
  }
  return names;
};

const functionLabel = (value) => {
  const name = getOwnPropertyDescriptor(value, 'name')?.value;
  const kind = stringStartsWith(functionToString(value), 'class') ? 'class' : 'Function';
  if (typeof name !== 'string' || name === '') return kind === 'class' ? '[class]' : '[Function]';
  return kind === 'class' ? `[class ${name}]` : `[Function: ${name}]`;
};

const inspectDirectory = ({ label, names }) => {
  const listed = names();
  return listed.length === 0 ? `[${label}]` : `[${label}: ${arrayJoin(arraySlice(listed, 0, ITEMS_MAX), ', ')}]`;
};

/** On one line where it fits, else one part per line. */
const layOut = (prefix, open, close, parts) => {
  const spaced = ' ';
  const line = `${prefix}${open}${spaced}${arrayJoin(parts, ', ')}${spaced}${close}`;
  if (line.length <= LINE_CHARS_MAX && !stringIncludes(line, '\n')) return line;
  const short = open === '[' && parts.length > 6 && allShort(parts);
  const rows = short ? groupRows(parts) : parts;
  const indented = arrayMap(rows, (row) => `  ${stringReplaceAll(row, '\n', '\n  ')}`);
  return `${prefix}${open}\n${arrayJoin(indented, ',\n')}\n${close}`;
};

const allShort = (parts) => {
  for (let i = 0; i < parts.length; i++) {
    if (parts[i].length > 16 || stringIncludes(parts[i], '\n')) return false;
  }
  return true;
};

/** Rows of short items, so that a list of numbers does not become a page of lines. */
const groupRows = (parts) => {
  const rows = [];
  let row = '';
  for (let i = 0; i < parts.length; i++) {
    const next = row === '' ? parts[i] : `${row}, ${parts[i]}`;
    if (next.length > LINE_CHARS_MAX - 4) {
      arrayPush(rows, row);
      row = parts[i];
    } else {
      row = next;
    }
  }
  arrayPush(rows, row);
  return rows;
};

const bounded = (text) => {
  if (text.length <= TEXT_CHARS_MAX) return text;
  return `${stringSlice(text, 0, TEXT_CHARS_MAX)}... ${text.length - TEXT_CHARS_MAX} more characters`;
};

/** Text of any value, at most about 32 KiB. A value may run code when it is read, so failures are shown too. */
const inspect = (value, depthMax = DEPTH_MAX) => {
  try {
    return bounded(new Inspector(depthMax).value(value, 0));
  } catch (error) {
    return `[value that cannot be printed: ${readText(error, 'message') ?? 'it throws when it is read'}]`;
  }
};
