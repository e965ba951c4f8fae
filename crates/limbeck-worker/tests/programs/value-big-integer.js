// throws: value.items[3].id is a BigInt; convert it with String() or Number()
return { items: [1, 2, 3, { id: 4n }] };
