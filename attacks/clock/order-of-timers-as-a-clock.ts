// attack: measures a computation by the order in which timers set before and after it fire
// property: S20
// timeout_ms: 10000
// expect: value "held"
const orders = new Set<string>();
for (let round = 0; round < 20; round++) {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    setTimeout(() => order.push("two"), 2);
    let x = 0;
    for (let i = 0; i < (round % 2) * 1_000_000; i++) x += i;
    setTimeout(() => order.push("one"), 1);
    setTimeout(resolve, 4, x);
  });
  orders.add(order.join());
}
return orders.size === 1 && orders.has("one,two") ? "held" : [...orders];
