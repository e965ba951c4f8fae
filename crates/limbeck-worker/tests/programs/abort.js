// value: {"events":["listener","onabort"],"reason":"AbortError","given":"why","thrown":"stop","timeout":"TimeoutError","any":true,"made":"TypeError"}
const events = [];
const controller = new AbortController();
controller.signal.addEventListener("abort", () => events.push("listener"));
controller.signal.onabort = () => events.unshift("onabort");
controller.abort();
controller.abort();
events.sort();
let thrown;
try {
  AbortSignal.abort("stop").throwIfAborted();
} catch (reason) {
  thrown = reason;
}
const timeout = AbortSignal.timeout(10);
const any = AbortSignal.any([new AbortController().signal, timeout]);
await new Promise((resolve) => timeout.addEventListener("abort", resolve));
let made;
try {
  new AbortSignal();
} catch (error) {
  made = error.name;
}
return {
  events, reason: controller.signal.reason.name, given: AbortSignal.abort("why").reason, thrown,
  timeout: timeout.reason.name, any: any.aborted, made,
};
