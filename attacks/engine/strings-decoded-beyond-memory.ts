// attack: has the native decoder make a copy that does not fit beside its source
// property: S23
// timeout_ms: 5000
// expect: error memory_limit|exception
return new TextDecoder().decode(new Uint8Array(200 << 20)).length;
