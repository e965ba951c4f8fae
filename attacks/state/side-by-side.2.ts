// attack: looks for marks of a program that runs at the same time
// property: S13
// expect: value [0, "mine"]
(globalThis as any).shared = "second";
(Object.prototype as any).second = 1;
let seen = 0;
for (let i = 0; i < 30; i++) {
  await new Promise((resolve) => setTimeout(resolve, 3));
  if (({} as any).first !== undefined || (globalThis as any).shared !== "second") seen += 1;
  const { text } = await tools.probe.echo({ from: "second" });
  if (!text.includes("second")) seen += 1;
}
return [seen, "mine"];
