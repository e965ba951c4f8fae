// stdout: outer
// stdout:   inner
// stdout:   two
// stdout:   lines
// stdout: default: 1
// stdout: default: 2
// stdout: clock: 0ms
console.group("outer");
console.log("inner");
console.log("two\nlines");
console.groupEnd();
console.count();
console.count();
console.time("clock");
console.timeEnd("clock");
