// stdout: log
// stdout: info
// stdout: debug
// stderr: warn
// stderr: error
// stderr: Assertion failed: no
console.log("log");
console.info("info");
console.debug("debug");
console.warn("warn");
console.error("error");
console.assert(true, "yes");
console.assert(false, "no");
