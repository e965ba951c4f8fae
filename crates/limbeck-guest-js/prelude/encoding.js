// `TextEncoder`, `TextDecoder`: the labels and tables of the Encoding standard, by `encoding_rs`.

/** The bytes behind any buffer or view, not copied. */
const bytesOf = (value, label) => {
  if (isTypedArray(value)) return new Uint8Array(typedArrayBuffer(value), typedArrayOffset(value), typedArrayBytes(value));
  if (isBuffer(value)) return new Uint8Array(value);
  if (isView(value)) return new Uint8Array(viewBuffer(value), viewOffset(value), viewBytes(value));
  throw typeError(`${label} takes a buffer or a typed array; got ${describeType(value)}`);
};

const utf8 = (text) => new Uint8Array(native.utf8(wellFormed(`${text}`)));

class TextEncoder {
  get encoding() { return 'utf-8'; }

  encode(text = '') { return utf8(text); }

  encodeInto(text, target) {
    const encoded = utf8(text);
    let written = min(encoded.length, target.length);
    // Not in the middle of a character: its later bytes are 0b10xxxxxx.
    while (written < encoded.length && written > 0 && (encoded[written] & 0xc0) === 0x80) written -= 1;
    const part = new Uint8Array(typedArrayBuffer(encoded), 0, written);
    typedArraySet(target, part);
    return { read: native.decode('utf-8', part, false, true).length, written };
  }
}

/** How many bytes at the end begin a character that is not complete. */
const incompleteTail = (encoding, bytes) => {
  const { length } = bytes;
  if (stringStartsWith(encoding, 'utf-16')) {
    const even = length - (length % 2);
    const high = bytes[even - (encoding === 'utf-16le' ? 1 : 2)];
    return length - even + (high >= 0xd8 && high <= 0xdb ? 2 : 0);
  }
  if (encoding !== 'utf-8') return 0;
  for (let back = 1; back <= min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? back : 0;
  }
  return 0;
};

const joinBytes = (first, second) => {
  const joined = new Uint8Array(first.length + second.length);
  typedArraySet(joined, first);
  typedArraySet(joined, second, first.length);
  return joined;
};

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBom;
  #rest = new Uint8Array(0);
  #begun = false;

  constructor(label = 'utf-8', options = {}) {
    const name = native.encodingName(`${label}`);
    if (typeof name !== 'string') throw new RangeError(`the encoding "${label}" is not supported`);
    this.#encoding = name;
    this.#fatal = !!options.fatal;
    this.#ignoreBom = !!options.ignoreBOM;
  }

  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBom; }

  decode(input, options) {
    const stream = options?.stream === true;
    let bytes = input === undefined ? new Uint8Array(0) : bytesOf(input, 'decode');
    if (this.#rest.length > 0) bytes = joinBytes(this.#rest, bytes);
    const kept = stream ? incompleteTail(this.#encoding, bytes) : 0;
    const whole = new Uint8Array(typedArrayBuffer(bytes), typedArrayOffset(bytes), bytes.length - kept);
    this.#rest = new Uint8Array(bufferSlice(typedArrayBuffer(bytes), typedArrayOffset(bytes) + whole.length, typedArrayOffset(bytes) + bytes.length));
    const text = native.decode(this.#encoding, whole, this.#fatal, this.#ignoreBom || this.#begun);
    this.#begun = stream && (this.#begun || whole.length > 0);
    if (typeof text !== 'string') throw typeError(`the data is not valid ${this.#encoding}`);
    return text;
  }
}

addGlobals({ TextEncoder, TextDecoder });
