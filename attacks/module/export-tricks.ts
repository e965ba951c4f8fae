// attack: exports of what is not there
// property: S14
// expect: error syntax|exception
export { nothing as default };
export { nothing as then };
