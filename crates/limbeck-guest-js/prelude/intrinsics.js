// Intrinsics as they are before any program runs. A program may break `Array.prototype` or `JSON` for
// itself; what the prelude does with its calls, its result and its output does not change.
// Every part of the prelude shares one scope (see src/engine.rs); names taken here are used below.

const {
  Array, ArrayBuffer, BigInt, Boolean, DOMException, DataView, Date, Error, EvalError, Function, JSON, Map, Math,
  Number, Object, Promise, Proxy, RangeError, ReferenceError, Reflect, RegExp, Set, String, Symbol, SyntaxError,
  TypeError, URIError, Uint8Array, WeakMap, WeakRef, WeakSet,
} = globalThis;
const { parse: jsonParse, stringify: jsonStringify } = JSON;
const { isArray, from: arrayFrom } = Array;
const {
  assign, create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, keys, setPrototypeOf,
} = Object;
const { apply, ownKeys, construct, get: reflectGet } = Reflect;
const { isPrototypeOf } = Object.prototype;
const { isInteger, isFinite: isFiniteNumber } = Number;
const { floor, max, min, trunc, abs, round } = Math;
const promiseReject = Promise.reject.bind(Promise);
const promiseAll = Promise.all.bind(Promise);

/** Makes `f.call(self, ...rest)` a plain function of `(self, ...rest)`, which a program cannot tamper with. */
const uncurry = Function.prototype.bind.bind(Function.prototype.call);

const arrayJoin = uncurry(Array.prototype.join);
const arrayPush = uncurry(Array.prototype.push);
const arraySort = uncurry(Array.prototype.sort);
const arrayReverse = uncurry(Array.prototype.reverse);
const arrayIncludes = uncurry(Array.prototype.includes);
const arrayIndexOf = uncurry(Array.prototype.indexOf);
const stringIndexOf = uncurry(String.prototype.indexOf);
const stringIncludes = uncurry(String.prototype.includes);
const stringStartsWith = uncurry(String.prototype.startsWith);
const stringEndsWith = uncurry(String.prototype.endsWith);
const stringSlice = uncurry(String.prototype.slice);
const stringSplit = uncurry(String.prototype.split);
const stringRepeat = uncurry(String.prototype.repeat);
const stringPadStart = uncurry(String.prototype.padStart);
const stringPadEnd = uncurry(String.prototype.padEnd);
const stringReplaceAll = uncurry(String.prototype.replaceAll);
const stringToLowerCase = uncurry(String.prototype.toLowerCase);
const stringToUpperCase = uncurry(String.prototype.toUpperCase);
const stringCodeAt = uncurry(String.prototype.charCodeAt);
const stringTrim = uncurry(String.prototype.trim);
const stringTrimEnd = uncurry(String.prototype.trimEnd);
const wellFormed = uncurry(String.prototype.toWellFormed);
const regexpExec = uncurry(RegExp.prototype.exec);
const regexpToString = uncurry(RegExp.prototype.toString);
const numberToString = uncurry(Number.prototype.toString);
const numberToExponential = uncurry(Number.prototype.toExponential);
const numberValueOf = uncurry(Number.prototype.valueOf);
const bigintValueOf = uncurry(BigInt.prototype.valueOf);
const functionToString = uncurry(Function.prototype.toString);
const dateToISOString = uncurry(Date.prototype.toISOString);
const dateGetTime = uncurry(Date.prototype.getTime);
const symbolToString = uncurry(Symbol.prototype.toString);
const errorToString = uncurry(Error.prototype.toString);
const promiseThen = uncurry(Promise.prototype.then);
const mapSet = uncurry(Map.prototype.set);
const mapForEach = uncurry(Map.prototype.forEach);
const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, 'size').get);
const setAdd = uncurry(Set.prototype.add);
const setForEach = uncurry(Set.prototype.forEach);
const setSize = uncurry(getOwnPropertyDescriptor(Set.prototype, 'size').get);
const weakGet = uncurry(WeakMap.prototype.get);
const weakSet = uncurry(WeakMap.prototype.set);
const weakHas = uncurry(WeakMap.prototype.has);
const TypedArray = getPrototypeOf(Uint8Array);
const typedArrayName = uncurry(getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get);
const typedArrayLength = uncurry(getOwnPropertyDescriptor(TypedArray.prototype, 'length').get);
const typedArrayBuffer = uncurry(getOwnPropertyDescriptor(TypedArray.prototype, 'buffer').get);
const typedArrayOffset = uncurry(getOwnPropertyDescriptor(TypedArray.prototype, 'byteOffset').get);
const typedArrayBytes = uncurry(getOwnPropertyDescriptor(TypedArray.prototype, 'byteLength').get);
const typedArraySet = uncurry(TypedArray.prototype.set);
const bufferBytes = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get);
const bufferSlice = uncurry(ArrayBuffer.prototype.slice);
const viewBuffer = uncurry(getOwnPropertyDescriptor(DataView.prototype, 'buffer').get);
const viewOffset = uncurry(getOwnPropertyDescriptor(DataView.prototype, 'byteOffset').get);
const viewBytes = uncurry(getOwnPropertyDescriptor(DataView.prototype, 'byteLength').get);

// Written out, because the language's own ask the list what to make a list of, and a program may have
// changed the answer; `for (… of …)` and `[...list]` ask too, and the prelude has neither while a program runs.
const arrayMap = (list, change) => {
  const changed = [];
  for (let i = 0; i < list.length; i++) arrayPush(changed, change(list[i], i));
  return changed;
};
const arrayFilter = (list, keeps) => {
  const kept = [];
  for (let i = 0; i < list.length; i++) if (keeps(list[i], i)) arrayPush(kept, list[i]);
  return kept;
};
const arraySlice = (list, start = 0, end = list.length) => {
  const part = [];
  for (let i = start; i < end && i < list.length; i++) arrayPush(part, list[i]);
  return part;
};
const arrayAppend = (list, more) => {
  for (let i = 0; i < more.length; i++) arrayPush(list, more[i]);
  return list;
};

/** Gives a subclass of a collection its own, frozen copy of the methods. */
const seal = (Base, Safe) => {
  for (const key of ownKeys(Base.prototype)) {
    if (!hasOwn(Safe.prototype, key)) {
      defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(Base.prototype, key));
    }
  }
  setPrototypeOf(Safe.prototype, null);
  return freeze(Safe);
};
const SafeMap = seal(Map, class SafeMap extends Map {});
const SafeSet = seal(Set, class SafeSet extends Set {});

/** Whether `brand(value)` returns instead of throwing: how to tell a Map from what only looks like one. */
const passes = (brand, value) => {
  try {
    brand(value);
    return true;
  } catch {
    return false;
  }
};
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
const isMap = (value) => value instanceof Map && passes(mapSize, value);
const isSet = (value) => value instanceof Set && passes(setSize, value);
const isDate = (value) => value instanceof Date && passes(dateGetTime, value);
const isTypedArray = (value) => typedArrayName(value) !== undefined;
const isBuffer = (value) => value instanceof ArrayBuffer && passes(bufferBytes, value);
const isView = (value) => value instanceof DataView && passes(viewBytes, value);

/**
 * Defines a property the way a class body does. A descriptor inherits nothing: a program may have given
 * every object a `get`.
 */
const define = (target, key, value, enumerable = false) =>
  defineProperty(target, key, { __proto__: null, value, writable: true, configurable: true, enumerable });

/** Adds globals the way the platform's own are: writable, configurable, not enumerable. */
const addGlobals = (values) => {
  for (const name of keys(values)) define(globalThis, name, values[name]);
};

/** Adds globals that a program cannot replace by accident. */
const addFixedGlobals = (values) => {
  for (const name of keys(values)) {
    defineProperty(globalThis, name, { value: values[name] });
  }
};

/** Adds methods the way a class body does. */
const addMethods = (target, methods) => {
  for (const key of ownKeys(methods)) define(target, key, methods[key]);
};

// The engine makes template literals with the method a program would find here (the language says it must
// not ask), so the method stays what it is.
defineProperty(String.prototype, 'concat', { writable: false, configurable: false });

// Memory shared between threads; there is one.
delete globalThis.SharedArrayBuffer;

const nowMs = () => floor(native.nowUs() / 1000);
