// attack: looks for a time of the host in ids, seeds and texts it is given
// property: S20
// expect: value "held"
const now = Date.now();
const texts = [crypto.randomUUID(), JSON.stringify(await servers()), JSON.stringify(await search("list")), String(new Error("x").stack), JSON.stringify(budget)];
const stamps = texts.flatMap((text) => text.match(/\d{13,16}/g) ?? []).filter((n) => Math.abs(+n.slice(0, 13) - now) < 1e9);
return stamps.length === 0 ? "held" : stamps;
