// value: 42
return input.n * 2;
