// stdout: | (index) | id | name  |
// stdout: |---------|----|-------|
// stdout: | 0       | 1  | 'one' |
// stdout: | 1       | 2  |       |
console.table([{ id: 1, name: "one" }, { id: 2 }]);
