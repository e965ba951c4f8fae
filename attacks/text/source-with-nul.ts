// attack: a source with a NUL in code, in a text and in a comment, where a parser in C would end
// property: S31
// build: [["// a \u0000 b\nconst s = 'x\u0000y'; /* \u0000 */\nreturn s.length + ", 1], ["'\u0000'.length;", 1]]
// expect: value 4
