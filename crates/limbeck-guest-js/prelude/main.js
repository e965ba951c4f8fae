// Hooks that the native side calls, from the start of a program to its end.

const KIND = { value: 0, thrown: 1, unserialisable: 2, syntax: 3 };
const ERROR_TEXT_BYTES_MAX = 8 << 10;
const REJECTIONS_SHOWN_MAX = 10;
const REJECTIONS_KEPT_MAX = 1000;

/** Rejected promises without a handler, in the order of rejection. */
const unhandled = new SafeMap();
const noteRejection = (promise, reason, handled) => {
  if (handled) unhandled.delete(promise);
  else if (unhandled.size < REJECTIONS_KEPT_MAX) unhandled.set(promise, reason);
};

const printRejections = () => {
  if (unhandled.size === 0) return;
  indent = '';
  let shown = 0;
  unhandled.forEach((reason) => {
    shown += 1;
    if (shown <= REJECTIONS_SHOWN_MAX) print(STDERR, `unhandled rejection: ${oneLine(reason)}`);
  });
  if (shown > REJECTIONS_SHOWN_MAX) print(STDERR, `unhandled rejection: ${shown - REJECTIONS_SHOWN_MAX} more`);
};

/** Prints what a callback threw after the program had returned. */
const printError = (error) => {
  indent = '';
  print(STDERR, `unhandled error after the return: ${oneLine(error)}`);
};

const oneLine = (reason) => {
  try {
    const text = isError(reason) ? errorText(reason) : display(reason);
    return stringSplit(text, '\n')[0];
  } catch {
    return 'a reason that cannot be read';
  }
};

const cut = (text) => (text === undefined ? undefined : native.cut(wellFormed(text), ERROR_TEXT_BYTES_MAX));

/** Frames of the error and of what caused it. */
const fullStack = (error) => {
  let text = programFrames(readText(error, 'stack'));
  for (let depth = 0, { cause } = error; isError(cause) && depth < 4; depth++, { cause } = cause) {
    text += `\ncaused by: ${errorText(cause)}`;
  }
  return text;
};

/** Report of a thrown value. */
const report = (error) => {
  if (!isObject(error)) return { __proto__: null, name: 'Error', message: cut(display(error)), stack: '' };
  const message = readText(error, 'message');
  const stack = isError(error) ? fullStack(error) : '';
  // A value that a program throws may be what a server answered: its `hint` is no advice of the gateway.
  const ownHint = error instanceof ToolError ? readText(error, 'hint') : undefined;
  return {
    __proto__: null,
    name: cut(readText(error, 'name') ?? 'Error'),
    message: cut(message === undefined ? inspect(error) : nameCallee(error, message, stack)),
    stack: cut(stack),
    code: cut(readText(error, 'code')),
    hint: cut(ownHint ?? hintFor(error, message ?? '', stack) ?? failedCall(error)),
  };
};

const reportSafely = (error) => {
  try {
    return report(error);
  } catch (failure) {
    // Too little memory to describe an error is what ended the program. The engine throws null when there
    // is too little for an error of its own; the host knows whether memory was full.
    if (readText(failure, 'message') === 'out of memory') throw failure;
    const message = failure === null ? 'null' : 'the error cannot be read';
    return { __proto__: null, name: 'Error', message, stack: '' };
  }
};

/** Ends the program with what it threw. */
const fail = (error, kind = KIND.thrown) => {
  try {
    // The same error may have travelled through several promises on its way out.
    unhandled.forEach((reason, promise) => { if (reason === error) unhandled.delete(promise); });
    printRejections();
    native.done(kind, jsonStringify(reportSafely(error)));
  } catch {
    native.exhausted();
  }
};

/** `encodeMeeting` of what the program returned; `undefined` when it has no JSON form and the program was ended. */
const encodeReturned = (value) => {
  try {
    return encodeMeeting(value);
  } catch (error) {
    const reason = explain(value, 'value');
    if (reason === undefined) {
      fail(error);
    } else {
      printRejections();
      native.done(KIND.unserialisable, cut(reason));
    }
    return undefined;
  }
};

/**
 * JSON text of what the program returned, of which `encoded` has the first attempt; `undefined` when the program was ended.
 * Promises inside of it are awaited, as the one that is the whole value has been: `return names.map(async (name) => …)`
 * means the answers.
 */
const settleReturned = async (value, encoded) => {
  if (encoded?.promises.length > 0) warn(unawaitedText(encoded.promises.length));
  for (let round = 0; round < SETTLE_ROUNDS_MAX && encoded?.promises.length > 0; round++) {
    await settleMet(encoded.promises);
    encoded = encodeReturned(value);
  }
  return encoded === undefined ? undefined : encoded.text ?? '';
};

/** Ends the program with what it returned, of which `text` is the JSON text. */
const endWith = (value, text) => {
  if (typeof value === 'function') warn('the program returned a function, which has no value: call it');
  if (typeof value === 'symbol') warn('the program returned a symbol, which has no value: return a text');
  warnOfLosses(value, text, 'the returned value', 'value');
  warnOfUnusedNames();
  warnOfLateCalls();
  warnOfUnansweredCalls();
  endTimers();
  printRejections();
  native.done(KIND.value, text);
};

/** The end of a program whose value has promises in it or that left calls or timers behind (`hadMore`). */
const finishLater = async (value, encoded, hadMore) => {
  try {
    let text = await settleReturned(value, encoded);
    while (text !== undefined && (hadMore || await settleDown(true))) {
      hadMore = false;
      text = await readAgain(value, text);
    }
    if (text !== undefined) endWith(value, text);
  } catch (error) {
    fail(error);
  }
};

/**
 * Ends the program with what it returned, once nothing of it is left to run. The value is read again after that:
 * what was not awaited may have filled it. Most programs leave nothing, and end without another job.
 */
const finish = (value) => {
  hasReturned = true;
  lastCallAtReturn = callsMade;
  lastTimerAtReturn = lastTimer;
  whenSettled(false, () => {
    const encoded = encodeReturned(value);
    if (encoded === undefined) return;
    if (encoded.promises.length > 0) finishLater(value, encoded, false);
    else whenSettled(true, (hadMore) => (hadMore ? finishLater(value, encoded, true) : endWith(value, encoded.text ?? '')));
  });
};

const asyncGenerator = getPrototypeOf(async function* () {}).prototype;
const asyncGeneratorNext = asyncGenerator.next;
const GENERATED_MAX = 10_000;

const isGenerated = (value) => isObject(value) && apply(isPrototypeOf, asyncGenerator, [value]);

/** The items of an async generator, which has no JSON form. */
const itemsOf = async (value) => {
  const items = [];
  while (items.length < GENERATED_MAX) {
    const step = await apply(asyncGeneratorNext, value, []);
    if (step.done) {
      warn('the program returned an async generator, of which the items were taken: collect them with `for await`');
      return items;
    }
    arrayPush(items, step.value);
  }
  warn(`the program returned an async generator, of which the first ${GENERATED_MAX} items were taken: collect them with \`for await\``);
  return items;
};

const unawaitedText = (count) => (count === 1
  ? 'the returned value had a promise in it, which was awaited; write `await` before the call'
  : `the returned value had ${count} promises in it, which were awaited; write \`await Promise.all(…)\` around the list`);

/** Ends the program when `hook` throws: then the program got in its way, or memory ran out. */
const orFail = (hook) => (first, second, third) => {
  try {
    hook(first, second, third);
  } catch (error) {
    fail(error);
  }
};

// Made here, so that a program's start does not have to grow the global object.
addGlobals({ input: undefined });

return {
  begin(globals) {
    startedMs = nowMs();
    limits = globals.limits ?? {};
    llmTerms = globals.llm;
    setServers(globals.servers);
    globalThis.input = globals.input;
    if (isArray(globals.fullNames)) addFullNames(globals.fullNames);
  },

  /** What the program returned: its value, or the promise of it. */
  async watch(returned) {
    let value;
    try {
      value = await returned;
      if (isGenerated(value)) value = await itemsOf(value);
    } catch (error) {
      return fail(error);
    }
    return finish(value);
  },

  fail: (error) => fail(error),
  refuse: (error) => fail(error, error instanceof SyntaxError ? KIND.syntax : KIND.thrown),
  settle: orFail(settle),
  fire: orFail(fire),
  rest,
  reject: noteRejection,
};
