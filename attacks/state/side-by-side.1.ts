// attack: leaves marks while another program runs at the same time
// property: S13
// order: together
// expect: value [0, "mine"]
(globalThis as any).shared = "first";
(Object.prototype as any).first = 1;
let seen = 0;
for (let i = 0; i < 30; i++) {
  await new Promise((resolve) => setTimeout(resolve, 3));
  if (({} as any).second !== undefined || (globalThis as any).shared !== "first") seen += 1;
  const { text } = await tools.probe.echo({ from: "first" });
  if (!text.includes("first")) seen += 1;
}
return [seen, "mine"];
