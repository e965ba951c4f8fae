// attack: imports a module of Node
// property: S14
// expect: error syntax
// message: does not exist here
import { readFileSync } from "node:fs";
export default () => readFileSync("/etc/passwd", "utf8");
