// attack: reads `new.target`, `super`, `arguments.callee` and `yield` where the wrapper might give them a meaning
// property: S06
// expect: value ["TypeError", 0]
let name = "none";
try { (arguments as any).callee; } catch (e) { name = e.name; }
var yield_ = 0;
return [name, yield_];
