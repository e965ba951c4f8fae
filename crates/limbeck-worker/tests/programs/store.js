// value: [null,null]
return [await store.set("key", { a: 1 }), await store.get("key")];
