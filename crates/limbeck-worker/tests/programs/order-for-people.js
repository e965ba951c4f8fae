// value: {"words":["a","A","á","apple","Apple","äpple","b","Zebra"],"numbers":["item 2","item 10"],"base":[0,0,-1],"plurals":["one","other","st","nd","th"],"list":"a, b, and c","ago":["3 days ago","in 1 hour","yesterday"]}
const suffix = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinals = new Intl.PluralRules("en-US", { type: "ordinal" });
const plurals = new Intl.PluralRules("en-US");
const base = new Intl.Collator("en", { sensitivity: "base" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
return {
  words: ["Zebra", "b", "Apple", "äpple", "apple", "á", "A", "a"].sort((a, b) => a.localeCompare(b)),
  numbers: ["item 10", "item 2"].sort(new Intl.Collator(undefined, { numeric: true }).compare),
  base: [base.compare("a", "A"), base.compare("a", "á"), base.compare("a", "b")],
  plurals: [plurals.select(1), plurals.select(2), ...[1, 22, 11].map((n) => suffix[ordinals.select(n)])],
  list: new Intl.ListFormat("en").format(["a", "b", "c"]),
  ago: [relative.format(-3, "days"), relative.format(1, "hour"), relative.format(-1, "day")],
};
