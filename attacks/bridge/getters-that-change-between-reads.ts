// attack: gives another value every time it is read, so that what is checked is not what is sent
// property: S44
// expect: value [true, 1]
let reads = 0;
const { items } = await tools.shop.list_customers({ page: 1, get page_size() { reads += 1; return reads === 1 ? 1 : 1000; } } as any);
return [items.length === 1, reads];
