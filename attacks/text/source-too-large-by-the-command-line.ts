// attack: a source of 300 KB given to `limbeck run`
// property: S31
// via: run
// build: [["// ", 1], ["x", 300000], ["\nreturn 1;", 1]]
// expect: refused
