// control: the canary, given to this program as its input and returned, is noticed in the output
// property: S01
// input: "{{canary}}"
// expect: leak
return input;
