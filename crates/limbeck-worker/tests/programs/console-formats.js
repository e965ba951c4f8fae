// stdout: 3 of 4: {"a":1} 5% x y
// stdout: 100%
console.log("%d of %s: %j 5%% %s", 3, 4, { a: 1 }, "x", "y");
console.log("100%");
