// attack: has a tool return text that is code, markup and terminal controls, to see whether anything on the way runs or interprets it
// property: S48
// expect: value ["${globalThis.ran = 1}", "<img src=x onerror=alert(1)>", "{{7*7}}", "\u001b[2J\u001b]0;x\u0007", null]
const texts = ["${globalThis.ran = 1}", "<img src=x onerror=alert(1)>", "{{7*7}}", "\u001b[2J\u001b]0;x\u0007"];
const back: unknown[] = [];
for (const text of texts) {
  const result = JSON.stringify({ content: [{ type: "text", text }] });
  back.push(await tools.probe.say({ result }));
}
return [...back, (globalThis as any).ran];
