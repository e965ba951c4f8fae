// attack: compares texts with marks without end, and changes the case of texts that grow
// property: S21
// timeout_ms: 20000
// expect: value "held"
const marks = "a" + "\u0301\u0323".repeat(100_000);
marks.localeCompare(marks + "b", "en", { sensitivity: "base" });
["z", "é", "\u0000", marks.slice(0, 1000), "𝒳", "9".repeat(10_000), "10"].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
"İ".repeat(100_000).toLowerCase();
"ß".repeat(100_000).toUpperCase();
return "held";
