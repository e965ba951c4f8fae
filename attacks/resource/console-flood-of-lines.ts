// attack: prints short lines without end, each of them a frame
// property: S25
// timeout_ms: 1000
// warning: left out
// expect: error timeout
for (;;) console.log("x");
