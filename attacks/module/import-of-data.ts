// attack: re-exports from an address that carries its own code
// property: S14
// expect: error syntax
export * from "data:text/javascript,globalThis.ran=1";
export default () => (globalThis as any).ran;
