// attack: puts traps on `Object.prototype`, where the proxies behind `tools` would look for those they lack, to get hold of their handlers
// property: S06
// expect: value "held"
const reached: string[] = [];
for (const trap of ["apply", "construct", "isExtensible", "getPrototypeOf", "get", "has", "ownKeys", "enumerate"]) {
  Object.defineProperty(Object.prototype, trap, {
    configurable: true,
    get() { return undefined; },
    set() {},
  });
  delete (Object.prototype as any)[trap];
}
(Object.prototype as any).isExtensible = function (this: object) { reached.push(Reflect.ownKeys(this).join(",")); return true; };
try { Object.isExtensible(tools); } catch (e) { reached.push(e.message); }
try { Object.isExtensible(tools.shop); } catch (e) { reached.push(e.message); }
try { Object.isFrozen(tools); } catch {}
delete (Object.prototype as any).isExtensible;
return reached.length === 0 ? "held" : reached;
