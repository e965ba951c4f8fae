// attack: numbers, dates and radixes at their limits, where a native buffer for digits may be too small
// property: S16
// expect: value "held"
for (const n of [5e-324, 1.7976931348623157e308, -0, NaN, Infinity, 2 ** 53, 1e21, 0.1 + 0.2, 123456789.123456789]) {
  for (let radix = 2; radix <= 36; radix++) n.toString(radix);
  for (const digits of [0, 1, 20, 100]) { n.toFixed(digits); if (Number.isFinite(n)) { n.toExponential(digits); n.toPrecision(digits || 1); } }
  for (const bad of [-1, 101, 2 ** 31, NaN]) { try { n.toFixed(bad); n.toPrecision(bad); n.toString(bad); } catch {} }
  try { n.toLocaleString(); new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 20 }).format(n); } catch {}
}
for (const t of [8.64e15, -8.64e15, 8.64e15 + 1, NaN, -1, 2 ** 60]) {
  const d = new Date(t);
  try { d.toISOString(); } catch {}
  d.toString(); d.toLocaleDateString(); d.setMonth(1e9); d.setFullYear(-271821, -1e6, 1e7); Date.UTC(1e308, 1e308, -1e308);
}
for (const text of ["+275760-09-13T00:00:00.001Z", "-271821-04-19", "9".repeat(10_000), "T".repeat(10_000), "2024-02-30T25:61:61.999999999999Z", "\u0000", "Jan ".repeat(1_000)]) Date.parse(text);
for (const text of ["9".repeat(100_000), "0." + "1".repeat(100_000), "0x" + "f".repeat(100_000), "1e" + "9".repeat(1_000)]) { Number(text); parseFloat(text); parseInt(text, 7); }
return "held";
