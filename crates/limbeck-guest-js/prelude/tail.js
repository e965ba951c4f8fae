// The tail of a program: what it left running when it returned. Calls that it did not await are answered and what
// follows them is run, so that `list.forEach(async …)` does all that it says. Then the program ends.
//
// What it knows is set in several files:
//
// | state | set by | read by |
// |---|---|---|
// | `hasReturned` | `finish` (main.js) | `callBack` (timers.js): an error of a callback is printed and ends nothing |
// | `goOn`, `waitsForAll`, `hadMore` | `settleDown`, `rest` | `rest`, `noteAnswer` |
// | `isTailOver` | `fire` (timers.js), by the timer of `beginTail` | `rest` |
// | `quietSinceUs` | `finish`, `noteAnswer` | `keepsProgram` |
// | `race.isLost` of a call (calls.js) | `watchRace` | `keepsProgram` |
// | `lastLostCall`, `lastLostTimer` | `watchRace` | `keepsProgram` |
// | `timer.keeps` | `setTimer`: not an interval (timers.js); `AbortSignal.timeout` (abort.js) | `keepsProgram` |
// | `isWokenByTimer` | `fire`: yes (timers.js); `noteAnswer`: no | `watchRace`, when the race is decided |

// Without a call in flight, timers keep a returned program so long after its return or its last answer. It is enough for
// pauses between calls; a longer timer is mostly the limit of something that has ended.
const TAIL_QUIET_US_MAX = 5_000_000;
/** The tail ends so long before the time limit, or a quarter of the limit before it: what was returned is not lost. */
const TAIL_RESERVE_MS = 2000;
/** The timer that ends the tail; those of programs count from 1. */
const TAIL_TIMER = 0;
const LATE_NAMED_MAX = 3;
const LATE_KEPT_MAX = 100;

/** Whether the program has returned. */
let hasReturned = false;
/** Goes on with the end of the program; present while the end waits. */
let goOn;
/** Whether the end waits for calls and timers, and not only for jobs. */
let waitsForAll = false;
/** Whether there was a call or a timer to wait for. */
let hadMore = false;
let isTailBegun = false;
let isTailOver = false;
/** When the program returned or received its last answer. */
let quietSinceUs = 0;
/** Names of calls that were answered in the tail, also of those that a function awaited which runs on. */
const lateNames = new SafeMap();
let lateCalls = 0;

/** Calls and timers up to these numbers are left of races that were decided: they keep no program. */
let lastLostCall = 0;
let lastLostTimer = 0;
/** Whether the code that runs was woken by a timer. */
let isWokenByTimer = false;

const keepsProgram = () => {
  let keeps = false;
  pending.forEach((call, id) => { keeps ||= !call.race.isLost && id > lastLostCall; });
  const latestUs = quietSinceUs + TAIL_QUIET_US_MAX;
  timers.forEach((timer, id) => { keeps ||= timer.keeps && id > lastLostTimer && timer.dueUs <= latestUs; });
  return keeps;
};

/** Waits until no job is left, and with `all` until no call and no timer keeps the program. Returns whether one did. */
const settleDown = (all) => new Promise((resolve) => {
  waitsForAll = all;
  hadMore = false;
  goOn = resolve;
});

const beginTail = () => {
  isTailBegun = true;
  const reserveMs = min(TAIL_RESERVE_MS, limits.wall_ms / 4);
  const leftMs = limits.wall_ms - (nowMs() - startedMs) - reserveMs;
  native.startTimer(TAIL_TIMER, max(0, leftMs) * 1000);
};

/** No job is left. Returns whether there is one now. */
const rest = () => {
  if (goOn === undefined) return false;
  if (waitsForAll && !isTailOver && keepsProgram()) {
    hadMore = true;
    if (!isTailBegun) beginTail();
    return false;
  }
  const resolve = goOn;
  goOn = undefined;
  resolve(hadMore);
  return true;
};

/**
 * Notes an answer; one that comes while the end waits is late. Those that come while promises of the returned value are
 * awaited are not: another warning is about these. A block for the client is not awaited by habit.
 */
const noteAnswer = ({ op, label }) => {
  isWokenByTimer = false;
  quietSinceUs = native.nowUs();
  if (goOn === undefined || op === OP.emit) return;
  lateCalls += 1;
  if (lateNames.size < LATE_KEPT_MAX) lateNames.set(stringStartsWith(label, 'tools.') ? stringSlice(label, 6) : label, true);
};

const warnOfLateCalls = () => {
  if (lateCalls === 0) return;
  const named = [];
  lateNames.forEach((_, name) => { if (named.length < LATE_NAMED_MAX) arrayPush(named, `\`${name}\``); });
  const more = lateNames.size > LATE_NAMED_MAX ? ` and ${lateNames.size - LATE_NAMED_MAX} more` : '';
  const calls = lateCalls === 1 ? '1 call was' : `${lateCalls} calls were`;
  const these = lateCalls === 1 ? 'this result' : 'these results';
  warn(`${calls} answered after the \`return\` (${arrayJoin(named, ', ')}${more}); the program ran on until then. What it computed before its `
    + `\`return\` is without ${these}: \`await\` each call; \`forEach\` awaits nothing, \`Promise.all\` does`);
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

const watchRacesOf = (name, isDecidedByErrors) => {
  const original = Promise[name];
  addMethods(Promise, {
    [name](promises) {
      const result = apply(original, this, [promises]);
      if (this === Promise && isArray(promises)) watchRace(arraySlice(promises), isDecidedByErrors);
      return result;
    },
  });
};
watchRacesOf('race', true);
watchRacesOf('any', false);
