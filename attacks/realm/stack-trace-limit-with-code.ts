// attack: makes `Error.stackTraceLimit` an object whose conversion runs code while the engine builds a trace
// property: S06
// expect: value "held"
let ran = 0;
const trap = { valueOf() { ran += 1; return 50; }, [Symbol.toPrimitive]() { ran += 1; return 50; } };
try { (Error as any).stackTraceLimit = trap; } catch {}
try { Object.defineProperty(Error, "stackTraceLimit", { get() { ran += 1; return trap; }, configurable: true }); } catch {}
try { await tools.shop.no_such_tool({}); } catch {}
try { null.x; } catch {}
try { new Uint8Array(-1); } catch {}
return ran === 0 ? "held" : `code ran ${ran} times inside the engine`;
