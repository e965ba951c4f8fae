// attack: loops without end beside another program, to hold it up
// property: S37
// timeout_ms: 1000
// order: together
// expect: error timeout
for (;;);
