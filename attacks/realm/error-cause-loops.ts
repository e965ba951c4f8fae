// attack: throws an error that is its own cause, with a cause that is a getter that makes new ones without end
// property: S24
// timeout_ms: 2000
// expect: error exception
// message: round and round
const e: any = new Error("round and round");
e.cause = e;
Object.defineProperty(e, "errors", { get() { return [e, new AggregateError([e, e], "inner", { cause: e })]; }, enumerable: true });
class Endless extends Error { get cause() { return new Endless("next"); } }
e.other = new Endless("first");
throw e;
