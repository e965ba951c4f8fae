// Timers and clocks over the guest clock, which moves only while the program waits.

// Node's least delay. With none, a loop of timers would never see the clock move.
const DELAY_MS_MIN = 1;
// The largest delay of browsers and Node; more means none there, and waits this long here.
const DELAY_MS_MAX = 2 ** 31 - 1;

let lastTimer = 0;
const timers = new SafeMap();

const delayUs = (delay) => {
  const ms = trunc(+delay);
  return (ms >= DELAY_MS_MIN ? min(ms, DELAY_MS_MAX) : DELAY_MS_MIN) * 1000;
};

const setTimer = (name, callback, us, repeats, args) => {
  if (typeof callback !== 'function') {
    const wait = typeof callback === 'number' ? `; to wait, write \`await new Promise((resolve) => setTimeout(resolve, ${callback}))\`` : '';
    throw typeError(`${name} takes a function; got ${describeType(callback)}${wait}`);
  }
  lastTimer += 1;
  timers.set(lastTimer, { callback, us, repeats, args, isLimit: false, hasFired: false, dueUs: native.nowUs() + us });
  native.startTimer(lastTimer, us);
  return lastTimer;
};

const clearTimer = (timer) => {
  const id = +timer;
  if (timers.delete(id)) native.stopTimer(id);
};

/**
 * Calls a callback. The program cannot catch what it throws, so an error ends the program; after the program has returned,
 * the error is printed.
 */
const callBack = (callback, args) => {
  try {
    if (args.length === 0) callback();
    else apply(callback, undefined, args);
  } catch (error) {
    if (hasReturned) printError(error);
    else fail(error);
  }
};

/** Timer `id` is due. */
const fire = (id) => {
  isWokenByTimer = true;
  if (id === TAIL_TIMER) startTailTimer();
  const timer = timers.get(id);
  if (timer === undefined) return;
  timer.hasFired = true;
  if (timer.repeats) {
    timer.dueUs = native.nowUs() + timer.us;
    native.startTimer(id, timer.us);
  } else {
    timers.delete(id);
  }
  callBack(timer.callback, timer.args);
};

const queueJob = globalThis.queueMicrotask;

addGlobals({
  setTimeout: (callback, delay, ...args) => setTimer('setTimeout', callback, delayUs(delay), false, args),
  setInterval: (callback, delay, ...args) => setTimer('setInterval', callback, delayUs(delay), true, args),
  // The least there is: after everything that is due now, and never twice at the same time.
  setImmediate: (callback, ...args) => setTimer('setImmediate', callback, 1, false, args),
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
  clearImmediate: clearTimer,
  queueMicrotask(callback) {
    if (typeof callback !== 'function') throw typeError(`queueMicrotask takes a function; got ${describeType(callback)}`);
    queueJob(() => callBack(callback, []));
  },
  performance: {
    now: () => nowMs() - startedMs,
    get timeOrigin() { return startedMs; },
    mark() {},
    measure() {},
    toJSON: () => ({ timeOrigin: startedMs }),
  },
});
addMethods(Math, { random: native.random });
