// value: [10,20,30]
const seen = [];
const start = Date.now();
await new Promise((resolve) => {
  const timer = setInterval(() => {
    seen.push(Date.now() - start);
    if (seen.length === 3) {
      clearInterval(timer);
      resolve();
    }
  }, 10);
});
return seen;
