// value: ["aGVsbG8=","hello","InvalidCharacterError"]
let error;
try {
  btoa("€");
} catch (thrown) {
  error = thrown.name;
}
return [btoa("hello"), atob("aGVsbG8="), error];
