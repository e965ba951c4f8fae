// value: {"number":0.2576700652649109,"uuid":"6d7c7309-99ba-45ef-9f3c-6a34198cf1a5","range":true,"different":true}
const number = Math.random();
const numbers = Array.from({ length: 1000 }, Math.random);
return {
  number, uuid: crypto.randomUUID(), range: numbers.every((n) => n >= 0 && n < 1),
  different: new Set(numbers).size === 1000,
};
