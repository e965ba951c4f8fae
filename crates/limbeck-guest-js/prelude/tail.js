// The tail of a program: what it left running when it returned. Calls that it did not await are answered and what
// follows them is run, so that `list.forEach(async …)` does all that it says. Then the program ends. All bounds of the tail
// are times of the guest clock, so a replay ends it at the same place.
//
// What it knows is set in several files:
//
// | state | set by | read by |
// |---|---|---|
// | `hasReturned` | `finish` (main.js) | `callBack` (timers.js): an error of a callback is printed and ends nothing |
// | `lastCallAtReturn`, `lastTimerAtReturn` | `finish` (main.js) | `keepsProgram`, `dropTimer` (tail-timers.js), warnings |
// | `goOn`, `waitsForAll`, `hadMore` | `whenSettled`, `rest` | `rest`, `noteAnswer` |
// | `tailBeganUs`, `earlyCallsEndUs`, `tailEndUs` | `beginTail` | `keepsProgram`, `startTailTimer`, tail-timers.js |
// | `race.isLost` of a call (calls.js) | `watchRace` | `isKept` |
// | `lastLostCall`, `lastLostTimer` | `watchRace` | `isKept`, `dropTimer` |
// | `timer.isLimit` | `AbortSignal.timeout` (abort.js) | tail-timers.js |
// | `isWokenByTimer` | `fire`: yes (timers.js); `noteAnswer`: no | `watchRace`, when the race is decided |

/** Calls that were in flight at the return keep the program so long: it may have given them up. */
const EARLY_CALLS_US_MAX = 5_000_000;
/** All calls together keep it so long: a loop that it left running has no end. */
const TAIL_US_MAX = 10_000_000;
/** The tail ends so long before the time limit, or a quarter of the limit before it: what was returned is not lost. */
const TAIL_RESERVE_MS = 2000;
/** The timer that ends the tail; those of programs count from 1. */
const TAIL_TIMER = 0;
const LATE_NAMED_MAX = 3;
const LATE_KEPT_MAX = 100;

/** Whether the program has returned. */
let hasReturned = false;
/** Goes on with the end of the program, given `hadMore`; present while the end waits. */
let goOn;
/** Whether the end waits for calls and timers, and not only for jobs. */
let waitsForAll = false;
/** Whether there was a call or a timer to wait for. */
let hadMore = false;
/** Calls and timers up to these numbers were made before the return. */
let lastCallAtReturn = 0;
let lastTimerAtReturn = 0;
/** When the tail began; undefined before it. */
let tailBeganUs;
let earlyCallsEndUs = 0;
let tailEndUs = 0;
/** Names of calls that were answered in the tail, also of those that a function awaited which runs on. */
const lateNames = new SafeMap();
let lateCalls = 0;

/** Calls and timers up to these numbers are left of races that were decided: they keep no program. */
let lastLostCall = 0;
let lastLostTimer = 0;
/** Whether the code that runs was woken by a timer. */
let isWokenByTimer = false;

/** Whether the program still wants the answer of call `id`, as far as races tell. */
const isKept = (call, id) => !call.race.isLost && id > lastLostCall;

const keepsProgram = () => {
  const nowUs = native.nowUs();
  if (nowUs >= tailEndUs) return false;
  let keeps = dropLateTimers();
  if (pending.size > 0) pending.forEach((call, id) => { keeps ||= isKept(call, id) && (id > lastCallAtReturn || nowUs < earlyCallsEndUs); });
  return keeps;
};

/** Goes on with `next` when no job is left, and with `all` when no call and no timer keeps the program; `next` gets whether one did. */
const whenSettled = (all, next) => {
  waitsForAll = all;
  hadMore = false;
  goOn = next;
};

/** The same as a promise. */
const settleDown = (all) => new Promise((resolve) => whenSettled(all, resolve));

/** Wakes the program at the next of the two ends. */
const startTailTimer = () => {
  const nowUs = native.nowUs();
  const endUs = nowUs < earlyCallsEndUs ? earlyCallsEndUs : tailEndUs;
  if (nowUs < endUs) native.startTimer(TAIL_TIMER, endUs - nowUs);
};

const beginTail = () => {
  tailBeganUs = native.nowUs();
  const reserveMs = min(TAIL_RESERVE_MS, limits.wall_ms / 4);
  const leftUs = max(0, trunc(limits.wall_ms - (nowMs() - startedMs) - reserveMs)) * 1000;
  earlyCallsEndUs = tailBeganUs + min(EARLY_CALLS_US_MAX, leftUs);
  tailEndUs = tailBeganUs + min(TAIL_US_MAX, leftUs);
};

/** Whether a call would be one too many after the return. It is not made: to fail would lose what was returned. */
const endsTailAtCall = () => {
  if (tailBeganUs === undefined || callsMade < limits.calls) return false;
  warn(`after its \`return\` the program reached its limit of ${limits.calls} calls and was ended: end a loop before the \`return\`, `
    + 'or `await` what must be done');
  return true;
};

/** No job is left. Returns whether there may be one now. */
const rest = () => {
  if (goOn === undefined) return false;
  // Most programs leave no call and no timer, and have no tail.
  if (waitsForAll && (tailBeganUs !== undefined || pending.size > 0 || timers.size > 0)) {
    if (tailBeganUs === undefined) beginTail();
    if (keepsProgram()) {
      if (!hadMore) startTailTimer();
      hadMore = true;
      return false;
    }
  }
  const next = goOn;
  goOn = undefined;
  try {
    next(hadMore);
  } catch (error) {
    fail(error);
  }
  return true;
};

/**
 * Reads the value again, after what was not awaited may have filled it. Promises that nothing settles any more, such as
 * that of a dropped timer, end nothing: the value stays what it was.
 */
const readAgain = (value, text) => new Promise((resolve, reject) => {
  promiseThen(settleReturned(value, encodeReturned(value)), resolve, reject);
  promiseThen(settleDown(false), () => resolve(text));
});

const lateName = (label) => (stringStartsWith(label, 'tools.') ? stringSlice(label, 6) : label);

/**
 * Notes an answer; one that comes while the end waits is late. Those that come while promises of the returned value are
 * awaited are not: another warning is about these. A block for the client is not awaited by habit.
 */
const noteAnswer = ({ op, label }) => {
  isWokenByTimer = false;
  if (goOn === undefined || op === OP.emit) return;
  lateCalls += 1;
  if (lateNames.size < LATE_KEPT_MAX) lateNames.set(lateName(label), true);
};

/** Some of the names in `names`. */
const listNames = (names) => {
  const named = [];
  names.forEach((_, name) => { if (named.length < LATE_NAMED_MAX) arrayPush(named, `\`${name}\``); });
  const more = names.size > LATE_NAMED_MAX ? ` and ${names.size - LATE_NAMED_MAX} more` : '';
  return arrayJoin(named, ', ') + more;
};

const warnOfLateCalls = () => {
  if (lateCalls === 0) return;
  const calls = lateCalls === 1 ? '1 call was' : `${lateCalls} calls were`;
  const these = lateCalls === 1 ? 'this result' : 'these results';
  warn(`${calls} answered after the \`return\` (${listNames(lateNames)}); the program ran on until then. What it computed before its `
    + `\`return\` is without ${these}: \`await\` each call; \`forEach\` awaits nothing, \`Promise.all\` does`);
};

/** Warns of calls that are in flight when the tail ends: what follows them is not run. Calls that lost a race are no news. */
const warnOfUnansweredCalls = () => {
  if (pending.size === 0) return;
  // A getter of the value may have made a call.
  if (tailBeganUs === undefined) beginTail();
  const early = new SafeMap();
  const late = new SafeMap();
  pending.forEach((call, id) => {
    if (isKept(call, id) && call.op !== OP.emit) (id > lastCallAtReturn ? late : early).set(lateName(call.label), true);
  });
  const seconds = round((native.nowUs() - tailBeganUs) / 100_000) / 10;
  if (early.size > 0) {
    warn(`calls had no answer when the program ended, ${seconds} s after its \`return\` (${listNames(early)}), and what follows them `
      + 'was not run: `await` each call');
  }
  if (late.size > 0) {
    warn(`${seconds} s after its \`return\` the program still made calls (${listNames(late)}) and was ended: end a loop before the `
      + '`return`, or `await` what must be done');
  }
};

/**
 * Notes what a race leaves behind: timers that were set before it, calls among its promises, and, where a timer decided it
 * against other work, the calls in flight. The program gave these up, so it does not wait for them at its end.
 */
const watchRace = (promises, isDecidedByErrors) => {
  lastLostTimer = lastTimer;
  let isDecided = false;
  const decide = (winner) => {
    if (isDecided) return;
    isDecided = true;
    for (let i = 0; i < promises.length; i++) {
      const race = weakGet(racesByPromise, promises[i]);
      if (race !== undefined) race.isLost = true;
      else if (i !== winner && isWokenByTimer && promises[i] instanceof Promise) lastLostCall = callsMade;
    }
  };
  for (let i = 0; i < promises.length; i++) {
    const decided = () => decide(i);
    if (promises[i] instanceof Promise) promiseThen(promises[i], decided, isDecidedByErrors ? decided : () => {});
    else if (!isObject(promises[i])) decide(i);
  }
};

/**
 * `Promise[name]`, with what mistakes leave in silence: a list of functions, which are never called, and no list, as `forEach`
 * gives none. `watch` is given the promises of each call.
 */
const watchPromisesOf = (name, watch) => {
  const original = Promise[name];
  addMethods(Promise, {
    [name](promises) {
      if (this !== Promise) return apply(original, this, [promises]);
      if (promises === undefined) {
        return promiseReject(typeError(`Promise.${name} was given no list; \`forEach\` returns nothing: write \`list.map(async (item) => …)\``));
      }
      const result = apply(original, this, [promises]);
      if (isArray(promises)) {
        let hasFunction = false;
        for (let i = 0; i < promises.length; i++) hasFunction ||= typeof promises[i] === 'function';
        if (hasFunction) {
          warn(`\`Promise.${name}\` was given a function, which it does not call: give it promises, such as \`list.map(async (item) => …)\``);
        }
        watch(arraySlice(promises));
      }
      return result;
    },
  });
};
watchPromisesOf('race', (promises) => watchRace(promises, true));
watchPromisesOf('any', (promises) => watchRace(promises, false));
watchPromisesOf('all', () => {});
watchPromisesOf('allSettled', () => {});
