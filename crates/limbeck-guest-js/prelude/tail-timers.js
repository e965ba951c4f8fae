// Timers of a program that has returned. They are mostly limits of something that has ended, or pauses between calls: they
// keep the program for a short time, and those that are due later are dropped.

/** Timers keep a returned program so long together. Intervals never keep it, and end after this time. */
const TIMERS_HOLD_US_MAX = 1_000_000;
/** What the text of a function has that calls tools. */
const CALLS_IN_TEXT = /\bawait\b|\btools\b|\bcall(?:MCP)?Tool\b|\bmcp__/;
const NATIVE_FUNCTION = /^[^{]*\{\s*\[native code\]\s*\}$/;

/** For how long timers have kept the program up to `countedAtUs`, and whether one does since. */
let heldByTimersUs = 0;
let countedAtUs = 0;
let isHeldByTimer = false;

let droppedTimers = 0;
let firstDueMs = 0;
let droppedIntervals = 0;
let isSleepCut = false;

const isLost = (timer, id) => timer.isLimit || id <= lastLostTimer;

const dropTimer = (timer, id) => {
  timers.delete(id);
  native.stopTimer(id);
  if (isLost(timer, id)) return;
  const source = functionToString(timer.callback);
  const hasCalls = regexpExec(CALLS_IN_TEXT, source) !== null;
  if (timer.repeats) {
    if (hasCalls && !timer.hasFired) droppedIntervals += 1;
  } else if (hasCalls) {
    const dueMs = (timer.dueUs - tailBeganUs) / 1000;
    firstDueMs = droppedTimers === 0 ? dueMs : min(firstDueMs, dueMs);
    droppedTimers += 1;
  } else if (id > lastTimerAtReturn && regexpExec(NATIVE_FUNCTION, source) !== null) {
    // A pause of code that runs on. One from before the return is mostly the limit of something that has ended.
    isSleepCut = true;
  }
};

/** Drops the timers that are due later than what is left of their time. Returns whether another keeps the program. */
const dropLateTimers = () => {
  const nowUs = native.nowUs();
  if (isHeldByTimer) heldByTimersUs += nowUs - countedAtUs;
  countedAtUs = nowUs;
  isHeldByTimer = false;
  if (timers.size === 0) return false;
  const latestUs = nowUs + TIMERS_HOLD_US_MAX - heldByTimersUs;
  timers.forEach((timer, id) => {
    // The limit of calls that may still be in flight.
    if (timer.isLimit) return;
    if (timer.dueUs > (timer.repeats ? tailBeganUs + TIMERS_HOLD_US_MAX : latestUs)) dropTimer(timer, id);
    else if (!timer.repeats && id > lastLostTimer) isHeldByTimer = true;
  });
  return isHeldByTimer;
};

/** Drops all timers that are left when the program ends, and warns of those that would have made calls. */
const endTimers = () => {
  timers.forEach(dropTimer);
  if (droppedTimers > 0) {
    const which = droppedTimers === 1 ? '1 timer was dropped at the return, due' : `${droppedTimers} timers were dropped at the return, the first due`;
    warn(`${which} in ${round(firstDueMs / 100) / 10} s: \`await\` what must be done`);
  }
  if (droppedIntervals > 0) warn('an interval was stopped at the return before it made a call: `await` what must be done');
  if (isSleepCut) warn('code that ran on after the `return` was ended at a pause: pauses have 1 s in all there, so `await` what must be done');
};
