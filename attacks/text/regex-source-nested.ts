// attack: a regular expression in the source nested deeper than its parser may follow
// property: S24
// build: [["return /", 1], ["(?:", 1500], ["a", 1], [")", 1500], ["/.test('a')", 1]]
// expect: value true
