// attack: gives every object a `toJSON`, so that the requests of the prelude itself are rewritten: another key of the store, another server described
// property: S07
// expect: value ["honest", "not rewritten"]
await store.set("tojson-honest", "honest");
await store.set("tojson-other", "other");
let got: unknown;
let wrong = "not rewritten";
(Object.prototype as any).toJSON = function (this: any) {
  if (this.key === "tojson-honest") { return { key: "tojson-other" }; }
  if (this.server === "probe") wrong = "the name of a call was rewritten";
  return this;
};
got = await store.get("tojson-honest");
await tools.probe.echo({});
delete (Object.prototype as any).toJSON;
return [got, wrong];
