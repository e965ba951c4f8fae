// value: {"text":"a=1&b=x+y&a=2","get":"1","all":["1","2"],"has":[true,false],"sorted":"a=1&a=2&b=x+y","size":3,"deleted":"b=x+y","set":"b=3","from":["q=1","k=v","m=1&m=2"]}
const params = new URLSearchParams("?a=1&b=x+y&a=2");
const text = params.toString();
const seen = { text, get: params.get("a"), all: params.getAll("a"), has: [params.has("b"), params.has("c")] };
params.sort();
seen.sorted = `${params}`;
seen.size = params.size;
params.delete("a");
seen.deleted = `${params}`;
params.set("b", 3);
seen.set = `${params}`;
seen.from = [{ q: 1 }, new Map([["k", "v"]]), [["m", "1"], ["m", "2"]]].map((init) => `${new URLSearchParams(init)}`);
return seen;
