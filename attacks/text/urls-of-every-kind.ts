// attack: addresses with credentials, ports, dots, percent signs, other scripts and no end
// property: S16
// timeout_ms: 20000
// expect: value "held"
for (const text of ["http://a:b@c:99999/", "http://[::1%25eth0]/", "http://0x7f.1/", "file:///etc/passwd", "http://xn--a/", "http://" + "a.".repeat(50_000), "http://a/" + "../".repeat(50_000), "data:,x", "javascript:1", "http://\u0000/", "http://%00/", "blob:x", "//a", "http:a", "http://a?" + "&".repeat(100_000), "http://日本/", "http://a:-1"]) {
  try { const url = new URL(text, "http://base/"); url.port = "99999"; url.host = "a\u0000b"; url.search = "?\ud800"; url.searchParams.append("a", "\udfff"); url.href = url.toString(); } catch (e) { if (!(e instanceof TypeError)) throw e; }
}
const params = new URLSearchParams("a=1");
for (const [key] of params) if (params.size < 100) params.append(key, "x");
params.sort();
return "held";
