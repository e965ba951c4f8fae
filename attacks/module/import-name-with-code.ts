// attack: specifiers and names with quotes, line ends and code, which become part of a script
// property: S14
// expect: value ["undefined", "undefined"]
import { "a\"]; globalThis.ran = 1; //" as odd } from "./servers/shop\"];globalThis.ran=1;//";
export default () => [typeof odd, typeof (globalThis as any).ran];
