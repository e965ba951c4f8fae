// attack: normalises a letter with marks without end, which are put in order in the square of their number
// property: S21
// timeout_ms: 800
// expect: error timeout
return ("a" + "\u0301\u0323".repeat(500_000)).normalize("NFC").length;
