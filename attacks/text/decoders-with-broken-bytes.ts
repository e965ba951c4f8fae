// attack: bytes that are cut, overlong or no text at all, in every encoding and in pieces
// property: S16
// expect: value "held"
const bytes = new Uint8Array(4096).map((_, i) => (i * 37 + (i >> 3)) & 255);
for (const label of ["utf-8", "utf-16le", "utf-16be", "gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "windows-1252", "koi8-u", "x-user-defined", "replacement", "nothing"]) {
  for (const fatal of [true, false]) {
    try {
      const decoder = new TextDecoder(label, { fatal });
      for (let i = 0; i < 100; i++) { try { decoder.decode(bytes.subarray(i, i + (i % 7)), { stream: i % 3 !== 0 }); } catch {} }
      decoder.decode(bytes);
    } catch (e) { if (!(e instanceof TypeError) && !(e instanceof RangeError)) throw e; }
  }
}
new TextEncoder().encodeInto("\ud800é日👩", new Uint8Array(3));
for (const text of ["*", "=", "a", "====", "\u0000", "YQ=", " Y Q = = "]) { try { atob(text); } catch {} }
try { btoa("\u0100"); } catch {}
for (const text of ["%", "%e0%80", "%ff", "%C0%80"]) { try { decodeURIComponent(text); } catch {} }
return "held";
