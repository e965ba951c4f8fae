// attack: looks whether it was given the worker that died before it
// property: S39
// expect: value [1, 0]
const fresh = new Uint8Array(1 << 22);
return [(await tools.shop.list_customers({ page_size: 1 })).items.length, fresh[12345]];
