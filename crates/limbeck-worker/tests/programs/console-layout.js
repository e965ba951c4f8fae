// stdout: {
// stdout:   id: 1,
// stdout:   title: 'a title that is long enough to fill most of a line',
// stdout:   nested: { list: [ 1, 2, 3 ], flag: true }
// stdout: }
console.log({
  id: 1, title: "a title that is long enough to fill most of a line", nested: { list: [1, 2, 3], flag: true },
});
