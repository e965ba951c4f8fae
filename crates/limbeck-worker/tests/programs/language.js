// value: {"groups":{"a":[1],"b":[2]},"at":3,"sorted":[1,2,3],"flat":[1,2,3],"entries":{"k":1},"regexp":"2024","union":[1,2,3],"iterator":[2,4],"replaced":"b-b","generator":[0,1,2],"private":5,"optional":null,"any":2,"bigint":"1267650600228229401496703205376","using":"Symbol.dispose"}
class Counter {
  #count = 5;
  get count() { return this.#count; }
}
async function* count() { for (let i = 0; i < 3; i++) yield i; }
const generator = [];
for await (const n of count()) generator.push(n);
return {
  groups: Object.groupBy([1, 2], (n) => (n === 1 ? "a" : "b")), at: [1, 2, 3].at(-1), sorted: [3, 1, 2].toSorted(),
  flat: [[1], [2, [3]]].flat(2), entries: Object.fromEntries([["k", 1]]),
  regexp: /(?<year>\d{4})/.exec("in 2024").groups.year, union: [...new Set([1, 2]).union(new Set([3]))],
  iterator: [1, 2].values().map((n) => n * 2).toArray(), replaced: "a-a".replaceAll("a", "b"), generator,
  private: new Counter().count, optional: undefined?.x?.y ?? null,
  any: await Promise.any([Promise.reject(1), Promise.resolve(2)]), bigint: String(2n ** 100n),
  using: Symbol.dispose.description,
};
