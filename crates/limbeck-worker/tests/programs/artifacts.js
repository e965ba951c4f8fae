// value: {"items":["a","b","c"],"early":["a"],"json":{"do":"json","id":"art_00000000000000000000000000000000"},"path":"$.a[0]","bytes":[0,1,2,255],"handle":"art_00000000000000000000000000000000","printed":"[artifact art_00000000000000000000000000000000]","listed":{"do":"list"},"saved":{"do":"save","value":{"a":1},"name":"n"},"none":{"do":"save","value":null}}
const id = 'art_' + '0'.repeat(32);
const opened = artifacts.open(id);
const items = [];
for await (const item of opened) items.push(item);
const early = [];
for await (const item of artifacts.open({ artifact: id })) {
  early.push(item);
  break;
}
return {
  items,
  early,
  json: await opened.json(),
  path: (await opened.select('$.a[0]')).path,
  bytes: [...(await opened.bytes())],
  handle: artifacts.open(opened).id,
  printed: `${opened}`,
  listed: await artifacts.list(),
  saved: await artifacts.save({ a: 1 }, 'n'),
  none: await artifacts.save(undefined),
};
