// attack: a specifier of a wrapper that climbs out of its folder
// property: S14
// expect: error syntax
import x from "./servers/../../../etc/passwd";
export default () => x;
