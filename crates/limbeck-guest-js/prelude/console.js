// `console`: log, info and debug to stdout, warn, error and trace to stderr. One call is one piece of
// text. A string is printed whole, as far as the host keeps what is printed; any other value takes at most about 32 KiB.

const STDOUT = 0;
const STDERR = 1;
const COUNTERS_MAX = 1000;

let indent = '';
const counters = new SafeMap();
const clocks = new SafeMap();

const print = (stream, text) => {
  warnOfObjectText(text, 'the printed text');
  const lines = indent === '' ? text : `${indent}${stringReplaceAll(text, '\n', `\n${indent}`)}`;
  native.log(stream, wellFormed(lines));
};

const display = (value) => {
  if (typeof value === 'string') return value;
  if (value instanceof Promise) warn('a promise was printed, and not what it settles with: write `await` before the call');
  return inspect(value);
};

const FORMATS = /%[sdifjoOc%]/;

const formatOne = (format, value) => {
  switch (format) {
    case '%d': return typeof value === 'bigint' ? `${value}n` : `${isObject(value) ? NaN : +value}`;
    case '%i': return `${isObject(value) ? NaN : trunc(+value)}`;
    case '%f': return `${isObject(value) ? NaN : +value}`;
    case '%j': return encode(value) ?? 'undefined';
    case '%c': return '';
    case '%s': return typeof value === 'string' ? value : inspect(value, 0);
    default: return inspect(value);
  }
};

/** `console.log('%s of %d', …)` replaces as in Node; without a format the values are joined. */
const formatAll = (values) => {
  if (values.length > 1 && typeof values[0] === 'string' && regexpExec(FORMATS, values[0]) !== null) {
    return formatWith(values[0], values);
  }
  return arrayJoin(arrayMap(values, display), ' ');
};

const formatWith = (format, values) => {
  let text = '';
  let rest = format;
  let next = 1;
  for (let found = regexpExec(FORMATS, rest); found !== null; found = regexpExec(FORMATS, rest)) {
    const after = found.index + 2;
    text += stringSlice(rest, 0, found.index);
    if (found[0] === '%%') text += '%';
    else text += next < values.length ? formatOne(found[0], values[next++]) : found[0];
    rest = stringSlice(rest, after);
  }
  const tail = arrayMap(arraySlice(values, next), display);
  return arrayJoin(arrayAppend([text + rest], tail), ' ');
};

const printer = (stream) => (...values) => print(stream, formatAll(values));

/** Every line of a table is as wide as its widest cells together. */
const CELL_CHARS_MAX = 1000;
const cellText = (value) => {
  const text = stringReplaceAll(inspect(value, 0), '\n', ' ');
  return text.length <= CELL_CHARS_MAX ? text : `${stringSlice(text, 0, CELL_CHARS_MAX)}…`;
};

/** Rows and columns of `console.table`; undefined for a value that is not a table. */
const tableOf = (data, wanted) => {
  if (!isObject(data)) return undefined;
  const rows = isMap(data) ? mapToJson(data) : isSet(data) ? setToJson(data) : data;
  const indexes = arraySlice(keys(rows), 0, ITEMS_MAX);
  const columns = [];
  let plain = false;
  for (let i = 0; i < indexes.length; i++) {
    const row = rows[indexes[i]];
    if (!isObject(row)) plain = true;
    else arrayMap(keys(row), (name) => arrayIncludes(columns, name) || arrayPush(columns, name));
  }
  const shown = isArray(wanted) ? arrayMap(wanted, (name) => `${name}`) : columns;
  const head = arrayAppend(arrayAppend(['(index)'], shown), plain ? ['Values'] : []);
  const body = arrayMap(indexes, (index) => {
    const row = rows[index];
    const cells = arrayMap(shown, (name) => (isObject(row) && hasOwn(row, name) ? cellText(row[name]) : ''));
    return arrayAppend(arrayAppend([index], cells), plain ? [isObject(row) ? '' : cellText(row)] : []);
  });
  return arrayAppend([head], body);
};

const drawTable = (table) => {
  const widths = arrayMap(table[0], (_, column) => {
    let width = 0;
    for (let i = 0; i < table.length; i++) width = max(width, table[i][column].length);
    return width;
  });
  const line = (row) => `| ${arrayJoin(arrayMap(row, (cell, i) => stringPadEnd(cell, widths[i])), ' | ')} |`;
  const rule = `|${arrayJoin(arrayMap(widths, (width) => stringRepeat('-', width + 2)), '|')}|`;
  const lines = arrayMap(table, line);
  return arrayJoin(arrayAppend([lines[0], rule], arraySlice(lines, 1)), '\n');
};

const elapsed = (label) => {
  const since = clocks.get(label);
  return since === undefined ? undefined : `${label}: ${nowMs() - since}ms`;
};

const group = (...values) => {
  if (values.length > 0) print(STDOUT, formatAll(values));
  if (indent.length < 40) indent += '  ';
};

addGlobals({
  console: {
    log: printer(STDOUT),
    info: printer(STDOUT),
    debug: printer(STDOUT),
    warn: printer(STDERR),
    error: printer(STDERR),
    trace(...values) {
      const frames = programFrames(captureStack());
      print(STDERR, arrayJoin(arrayFilter([`Trace: ${formatAll(values)}`, frames], (text) => text !== ''), '\n'));
    },
    dir: (value, options) => print(STDOUT, inspect(value, options?.depth === null ? Infinity : options?.depth)),
    table(data, columns) {
      const table = tableOf(data, columns);
      print(STDOUT, table === undefined ? display(data) : drawTable(table));
    },
    group,
    groupCollapsed: group,
    groupEnd() { indent = stringSlice(indent, 2); },
    assert(condition, ...values) {
      if (!condition) print(STDERR, values.length > 0 ? `Assertion failed: ${formatAll(values)}` : 'Assertion failed');
    },
    count(label = 'default') {
      const count = (counters.get(`${label}`) ?? 0) + 1;
      if (counters.size < COUNTERS_MAX) counters.set(`${label}`, count);
      print(STDOUT, `${label}: ${count}`);
    },
    countReset(label = 'default') { counters.delete(`${label}`); },
    time(label = 'default') { if (clocks.size < COUNTERS_MAX) clocks.set(`${label}`, nowMs()); },
    timeLog(label = 'default', ...values) {
      const text = elapsed(`${label}`);
      if (text !== undefined) print(STDOUT, formatAll(arrayAppend([text], values)));
    },
    timeEnd(label = 'default') {
      const text = elapsed(`${label}`);
      if (text !== undefined) print(STDOUT, text);
      clocks.delete(`${label}`);
    },
    clear() {},
  },
});
