// attack: puts the hook for stack traces back by redefining it, on `Error`, on subclasses and on their prototypes
// property: S06
// expect: value "held"
let sites: unknown;
const hook = (_: unknown, s: unknown) => { sites = s; return "forged"; };
for (const target of [Error, TypeError, RangeError, ToolError, DOMException, Error.prototype, Function.prototype, Object.prototype]) {
  try { (target as any).prepareStackTrace = hook; } catch {}
  try { Object.defineProperty(target, "prepareStackTrace", { value: hook, configurable: true }); } catch {}
  try { Object.defineProperty(target, "prepareStackTrace", { get: () => hook, configurable: true }); } catch {}
}
try { await tools.shop.no_such_tool({}); } catch (e) { e.stack; }
try { null.x; } catch (e) { e.stack; }
const o: any = {};
Error.captureStackTrace(o);
o.stack;
return Array.isArray(sites) ? "call sites were handed out" : "held";
