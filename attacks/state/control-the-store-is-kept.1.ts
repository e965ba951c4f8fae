// control: the store is kept between programs on purpose, so both programs run in the same gateway
// property: S12
// expect: value "left"
await store.set("state-control", { left: [1, 2] });
return "left";
