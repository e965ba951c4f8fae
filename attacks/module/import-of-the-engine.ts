// attack: imports a module of QuickJS
// property: S14
// expect: error syntax
import * as std from "qjs:std";
export default () => std.getenv("{{canary_variable}}");
