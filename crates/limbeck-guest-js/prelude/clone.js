// `structuredClone`: the HTML standard's algorithm for the types that exist here, without transfer.

const dataCloneError = (value) => {
  const what = typeof value === 'symbol' ? symbolToString(value) : display(value);
  return new DOMException(`${what} could not be cloned.`, 'DataCloneError');
};

const cloneView = (value, seen) => {
  if (isView(value)) return new DataView(cloneValue(viewBuffer(value), seen), viewOffset(value), viewBytes(value));
  const Type = typedArrayTypes[typedArrayName(value)];
  return new Type(cloneValue(typedArrayBuffer(value), seen), typedArrayOffset(value), typedArrayLength(value));
};

const typedArrayTypes = create(null);
for (const name of [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
  'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array',
]) typedArrayTypes[name] = globalThis[name];

const errorTypes = create(null);
for (const type of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
  errorTypes[type.name] = type;
}

const cloneError = (error, seen) => {
  const Type = errorTypes[readText(error, 'name')] ?? Error;
  const copy = fixStack(new Type(readText(error, 'message') ?? ''), readText(error, 'stack') ?? '');
  if (hasOwn(error, 'cause')) {
    define(copy, 'cause', cloneValue(error.cause, seen));
  }
  return copy;
};

/** What boxed primitives hold; undefined for everything else. */
const unboxed = (value) => {
  if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) {
    return value.valueOf();
  }
  return undefined;
};

const cloneProperties = (value, copy, seen) => {
  const names = keys(value);
  for (let i = 0; i < names.length; i++) {
    define(copy, names[i], cloneValue(value[names[i]], seen), true);
  }
  return copy;
};

const cannotClone = (value) =>
  typeof value === 'function' || value instanceof Promise || value instanceof WeakMap
  || value instanceof WeakSet || value instanceof WeakRef || directoryLabels.has(value);

/** A copy of `value`; `seen` maps what was copied to its copy, so that shared parts stay shared. */
const cloneValue = (value, seen) => {
  if (typeof value === 'symbol') throw dataCloneError(value);
  if (!isObject(value)) return value;
  if (seen.has(value)) return seen.get(value);
  if (cannotClone(value)) throw dataCloneError(value);

  const keep = (copy) => {
    seen.set(value, copy);
    return copy;
  };
  if (isArray(value)) return cloneProperties(value, keep(new Array(value.length)), seen);
  if (isDate(value)) return keep(new Date(dateGetTime(value)));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (isBuffer(value)) return keep(bufferSlice(value, 0));
  if (isTypedArray(value) || isView(value)) return keep(cloneView(value, seen));
  if (isError(value)) return keep(cloneError(value, seen));
  if (isMap(value)) {
    const copy = keep(new Map());
    mapForEach(value, (item, key) => mapSet(copy, cloneValue(key, seen), cloneValue(item, seen)));
    return copy;
  }
  if (isSet(value)) {
    const copy = keep(new Set());
    setForEach(value, (item) => setAdd(copy, cloneValue(item, seen)));
    return copy;
  }
  const primitive = unboxed(value);
  if (primitive !== undefined) return keep(Object(primitive));
  return cloneProperties(value, keep({}), seen);
};

addGlobals({
  structuredClone(value) {
    if (arguments.length === 0) throw typeError('structuredClone takes a value');
    return cloneValue(value, new SafeMap());
  },
});
