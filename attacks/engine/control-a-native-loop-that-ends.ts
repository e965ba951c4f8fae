// control: native loops over lists of ordinary length give their results
// property: S21
// expect: value [-1, 3, "1,2,3", 9]
return [[1, 2].indexOf(3), [3, 1, 2].sort().length, [1, 2, 3].join(), "a-b-c".replaceAll("-", "--").length + 2];
