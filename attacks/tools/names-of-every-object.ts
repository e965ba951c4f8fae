// attack: calls tools and servers named like what every object has, to reach the object instead of a tool
// property: S41
// expect: value []
const strange: string[] = [];
const names = ["__proto__", "constructor", "prototype", "hasOwnProperty", "isPrototypeOf", "valueOf", "toLocaleString", "__defineGetter__", "__lookupGetter__", "call", "apply", "bind", "name", "length"];
for (const name of names) {
  for (const f of [() => (tools as any)[name].x({}), () => (tools as any).shop[name]({})]) {
    try {
      const value = await f();
      strange.push(`${name}: ${typeof value}`);
    } catch (e) {
      if (!(e instanceof ToolError) && !(e instanceof TypeError)) strange.push(`${name}: ${e}`);
    }
  }
}
return strange;
