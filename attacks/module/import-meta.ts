// attack: asks where its own module is
// property: S55
// expect: error syntax
return import.meta.url;
