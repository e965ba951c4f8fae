// `ToolError`, and stack traces that show the program's frames alone.

/** Frames of the prelude, and of the engine inside a text it parsed. */
const FOREIGN_FRAME = /[( ](limbeck|<input>):/;
const captureStackTrace = Error.captureStackTrace;

// The engine's own hand out the functions of every frame, the prelude's too, and run code while a trace is
// built. What a program puts here instead is kept and does nothing.
define(Error, 'prepareStackTrace', undefined);
define(Error, 'stackTraceLimit', Error.stackTraceLimit);

/** Reads a text off an object that may do anything when it is read. */
const readText = (value, name) => {
  try {
    const text = value[name];
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
};

/** A stack without the prelude's own frames. */
const programFrames = (stack) => {
  if (typeof stack !== 'string') return '';
  const frames = arrayFilter(
    stringSplit(stack, '\n'),
    (line) => line !== '' && regexpExec(FOREIGN_FRAME, line) === null,
  );
  return arrayJoin(frames, '\n');
};

/**
 * The frames that lead to the caller, as raw text, for every host call. Each frame takes time to write down, so those
 * up to the prelude's `from` are left out where it is among them.
 */
const captureStack = (from) => {
  const here = {};
  captureStackTrace(here, from);
  return here.stack;
};

const fixStack = (error, stack) => define(error, 'stack', programFrames(stack));

const TOOL_ERROR_FIELDS = freeze(['code', 'server', 'tool', 'hint', 'retryable']);

/** Why a call of a tool, or of anything else the host answers, failed. */
class ToolError extends Error {
  constructor(message, details = {}) {
    super(message);
    for (let i = 0; i < TOOL_ERROR_FIELDS.length; i++) {
      const name = TOOL_ERROR_FIELDS[i];
      const value = details?.[name];
      if (value !== undefined && value !== null) define(this, name, value, true);
    }
  }

  toJSON() {
    return { name: this.name, message: this.message, ...this };
  }
}
addMethods(ToolError.prototype, { name: 'ToolError' });
defineProperty(ToolError.prototype, 'retryable', { value: false, writable: true, configurable: true });

/** The error for a `CallError` of the host, as if thrown where the call was made. */
const toolError = (details, stack) => {
  // An answer that was no JSON arrives as the engine's own error.
  if (!isObject(details) || details instanceof Error) {
    return fixStack(new ToolError('the answer is not JSON that the engine can read', {
      code: 'gateway_fault', hint: details?.message,
    }), stack);
  }
  return fixStack(new ToolError(details.message, details), stack);
};

const typeError = (message) => {
  const error = new TypeError(message);
  return fixStack(error, error.stack);
};
