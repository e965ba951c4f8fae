// control: reads what the first program put into the store
// property: S12
// expect: value {"left": [1, 2]}
return await store.get("state-control");
