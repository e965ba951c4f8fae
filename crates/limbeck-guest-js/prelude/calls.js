// Host calls: numbered by the native side, kept here until they are answered.

const OP = { tool: 1, search: 2, describe: 3, servers: 4, storeGet: 5, storeSet: 6, read: 8, artifact: 9, emit: 10, llm: 11, skill: 20, workspace: 21 };
const pending = new SafeMap();
let callsMade = 0;

/**
 * What races know of the promises that calls answer: `{isLost}`, whether one gave the promise up. A promise that is made of a
 * call's, and a call that is made for a promise, have the same `race`.
 */
const racesByPromise = new WeakMap();
const newRace = () => ({ __proto__: null, isLost: false });

const inRace = (race, promise) => {
  if (race !== undefined) weakSet(racesByPromise, promise, race);
  return promise;
};

/** `promise`, which is made of `answered`: a race that gives it up gives up the call behind `answered`. */
const inRaceOf = (answered, promise) => inRace(weakGet(racesByPromise, answered), promise);

/** How a head ends that asks for the result as it is; see `toolHead`. */
const RAW_FORM_END = '"form":"raw"}';

/** Sends one call; the promise settles with its answer. `label` names it in warnings. */
const send = (op, head, body, label, race = newRace(), from = send) => {
  if (endsTailAtCall()) return new Promise(() => {});
  const stack = captureStack(from);
  const promise = new Promise((resolve, reject) => {
    const id = native.call(op, head, body);
    callsMade += 1;
    const isUnwrapped = op === OP.tool && !stringEndsWith(head, RAW_FORM_END);
    pending.set(id, { resolve, reject, stack, op, label, isUnwrapped, race });
  });
  return inRace(race, promise);
};

/** The answer to call `id`. */
const settle = (id, ok, value) => {
  const call = pending.get(id);
  if (call === undefined) return;
  pending.delete(id);
  noteAnswer(call);
  if (ok && call.isUnwrapped) nameAnswer(value, call.label);
  if (ok) call.resolve(value);
  else call.reject(toolError(value, call.stack));
};

/** JSON text of a call's argument; throws a TypeError that names the place when it has none. */
const encodeBody = (body, label) => encodeArguments(body, label).text;

/** `encodeMeeting` of a call's argument; throws a TypeError that names the place when it has no JSON form. */
const encodeArguments = (body, label, texts = false) => {
  try {
    return encodeMeeting(body, texts);
  } catch (error) {
    const reason = explain(body, 'argument');
    if (reason === undefined) throw error;
    throw typeError(`${label}: ${reason}`);
  }
};

/** A call of the host itself; `body` is ours but for the texts in it, and loses what it inherits. */
const ask = (op, body, label) => {
  try {
    return send(op, '', encodeBody(setPrototypeOf(body, null), label), label);
  } catch (error) {
    return promiseReject(error);
  }
};
