// attack: builds texts beyond the greatest length by every native method that makes one
// property: S23
// timeout_ms: 30000
// expect: value []
const made: string[] = [];
const long = "x".repeat(1 << 20);
const tries: Record<string, () => string> = {
  repeat: () => long.repeat(1 << 12), padEnd: () => "x".padEnd(2 ** 31 - 1, "y"), padStart: () => "x".padStart(2 ** 30 + 1),
  join: () => new Array(1 << 12).fill(long).join(long),
  concat: () => long.concat(...new Array(2_000).fill(long)), json: () => JSON.stringify(new Array(1 << 11).fill(long)),
  indent: () => JSON.stringify(new Array(1 << 16).fill([[[[]]]]), null, "          "), normalize: () => "\ufdfa".repeat(1 << 18).normalize("NFKD"),
  encode: () => encodeURIComponent("\u0800".repeat(1 << 24)), escape: () => escape("\u0800".repeat(1 << 24)), upper: () => "\ufb03".repeat(1 << 27).toUpperCase(),
  raw: () => String.raw({ raw: new Array(1 << 12).fill(long) }), btoa: () => btoa("x".repeat(64 << 20)), digits: () => (10n ** 100_000_000n).toString(),
};
for (const [name, f] of Object.entries(tries)) {
  try { const text = f(); if (text.length > 1 << 28) made.push(`${name}: ${text.length}`); } catch {}
}
return made;
