// attack: asks where its own module is from code made at run time, and reads file names off functions and errors
// property: S55
// expect: value []
const told: string[] = [];
for (const code of ["import.meta", "import.meta.url", "new Error().fileName", "(function () {}).fileName", "(() => 0).toString()"]) {
  try { const got = (0, eval)(code); if (typeof got === "object" || /\/|\\/.test(String(got))) told.push(code); } catch {}
}
for (const f of [tools.shop.list_customers, console.log, search, structuredClone]) {
  for (const key of ["fileName", "lineNumber", "columnNumber"]) if ((f as any)[key] !== undefined && /[/\\]/.test(String((f as any)[key]))) told.push(`${f.name}.${key}`);
}
return told;
