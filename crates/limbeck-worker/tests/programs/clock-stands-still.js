// value: {"now":1700000000000,"same":true,"date":"2023-11-14T22:13:20.000Z","performance":0,"local":"Tue Nov 14 2023 22:13:20","offset":0}
const now = Date.now();
let same = true;
for (let i = 0; i < 10000; i++) same &&= Date.now() === now && new Date().getTime() === now;
return {
  now, same, date: new Date().toISOString(), performance: performance.now(), local: String(new Date()).slice(0, 24),
  offset: new Date().getTimezoneOffset(),
};
