// attack: asks for a limit beyond its own by sleeping for longer than any
// property: S38
// timeout_ms: 600
// expect: error timeout
await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
