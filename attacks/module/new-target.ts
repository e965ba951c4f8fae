// attack: `new.target` outside of a function of its own
// property: S06
// expect: error syntax
return new.target;
