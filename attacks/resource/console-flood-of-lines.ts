// attack: prints short lines without end, each of them a frame
// property: S25
// timeout_ms: 1000
// warning: dropped
// expect: error timeout
for (;;) console.log("x");
