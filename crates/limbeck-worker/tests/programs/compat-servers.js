// value: {"connected":[],"available":["test"],"all":["test"]}
// The server of the tests has no state, so it is not said to be connected.
const plain = listServers();
const awaited = await listServers();
if (JSON.stringify(plain) !== JSON.stringify(awaited)) throw new Error("awaiting changed it");
return plain;
