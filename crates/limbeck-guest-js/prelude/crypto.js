// `crypto`: random values from the execution's own seed, so that a replay draws the same, and digests.

const RANDOM_BYTES_MAX = 65536;
const INTEGER_ARRAYS = [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
  'BigInt64Array', 'BigUint64Array',
];

const HEX = arrayMap(arrayFrom({ length: 256 }), (_, byte) => stringPadStart(numberToString(byte, 16), 2, '0'));

const randomUUID = () => {
  const bytes = new Uint8Array(native.randomBytes(16));
  // Version 4 and the variant of RFC 9562.
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  let text = '';
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
    text += HEX[bytes[i]];
  }
  return text;
};

const getRandomValues = (array) => {
  if (!isObject(array) || !arrayIncludes(INTEGER_ARRAYS, typedArrayName(array))) {
    throw new DOMException('getRandomValues takes an array of integers', 'TypeMismatchError');
  }
  const length = typedArrayBytes(array);
  if (length > RANDOM_BYTES_MAX) {
    throw new DOMException(`${length} bytes requested, at most ${RANDOM_BYTES_MAX} at once`, 'QuotaExceededError');
  }
  typedArraySet(bytesOf(array, 'getRandomValues'), new Uint8Array(native.randomBytes(length)));
  return array;
};

const DIGESTS = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];

const digest = async (algorithm, data) => {
  const name = stringToUpperCase(`${isObject(algorithm) ? algorithm.name : algorithm}`);
  if (!arrayIncludes(DIGESTS, name)) {
    throw new DOMException(`no digest "${name}"; there are ${arrayJoin(DIGESTS, ', ')}`, 'NotSupportedError');
  }
  return native.digest(name, bytesOf(data, 'digest'));
};

addGlobals({ crypto: freeze({ randomUUID, getRandomValues, subtle: freeze({ digest }) }) });
