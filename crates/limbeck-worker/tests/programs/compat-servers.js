// value: {"connected":[{"name":"test","status":"connected","toolCount":3,"tools":[]}],"available":["test"],"all":["test"]}
const plain = listServers();
const awaited = await listServers();
if (JSON.stringify(plain) !== JSON.stringify(awaited)) throw new Error("awaiting changed it");
return plain;
