// attack: imports a file whose path it knows
// property: S14
// expect: error syntax
// message: does not exist here
import secret from "{{canary_file}}";
export default () => secret;
