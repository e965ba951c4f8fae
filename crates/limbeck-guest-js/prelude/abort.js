// `AbortController` and `AbortSignal`: for programs that pass a signal among their own functions. A tool
// call takes none; the host cancels calls when the execution ends.

const MAKE_SIGNAL = Symbol('make');

class AbortSignal {
  #aborted = false;
  #reason = undefined;
  #listeners = [];
  onabort = null;

  constructor(token) {
    if (token !== MAKE_SIGNAL) throw typeError('a signal is made by `new AbortController()`');
  }

  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }

  addEventListener(type, listener) {
    if (type !== 'abort' || !isObject(listener)) return;
    arrayPush(this.#listeners, listener);
  }

  removeEventListener(type, listener) {
    if (type !== 'abort') return;
    this.#listeners = arrayFilter(this.#listeners, (known) => known !== listener);
  }

  static trip(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
    const event = { type: 'abort', target: signal, currentTarget: signal };
    const listeners = signal.#listeners;
    signal.#listeners = [];
    if (typeof signal.onabort === 'function') signal.onabort(event);
    for (let i = 0; i < listeners.length; i++) {
      const listener = listeners[i];
      if (typeof listener === 'function') apply(listener, signal, [event]);
      else listener.handleEvent?.(event);
    }
  }

  static abort(reason) {
    const signal = new AbortSignal(MAKE_SIGNAL);
    tripSignal(signal, reason);
    return signal;
  }

  static timeout(ms) {
    const signal = new AbortSignal(MAKE_SIGNAL);
    const expire = () => tripSignal(signal, new DOMException('The operation timed out', 'TimeoutError'));
    // It limits other work, so that it keeps no program by itself.
    timers.get(setTimer('AbortSignal.timeout', expire, delayUs(ms), false, [])).isLimit = true;
    return signal;
  }

  static any(signals) {
    const any = new AbortSignal(MAKE_SIGNAL);
    for (const signal of signals) {
      if (signal.aborted) tripSignal(any, signal.reason);
      else signal.addEventListener('abort', () => tripSignal(any, signal.reason));
    }
    return any;
  }
}
const tripSignal = AbortSignal.trip;
delete AbortSignal.trip;

class AbortController {
  #signal = new AbortSignal(MAKE_SIGNAL);
  get signal() { return this.#signal; }
  abort(reason) { tripSignal(this.#signal, reason); }
}

addGlobals({ AbortSignal, AbortController });
