// control: what a program does to the built-in objects is seen everywhere in that program, so a trap that is not sprung was not touched
// property: S07
// expect: value ["polluted", "caught {\"a\":1}", 3, "caught then"]
(Object.prototype as any).polluted = "polluted";
const seen = [({} as any).polluted];
const parse = JSON.parse;
JSON.parse = ((text: string) => `caught ${text}`) as any;
seen.push(JSON.parse('{"a":1}'));
JSON.parse = parse;
Array.prototype.map = function () { return [1, 2, 3]; } as any;
seen.push([].map((x) => x).length);
(Object.prototype as any).then = function (resolve: (v: unknown) => void) { delete (Object.prototype as any).then; resolve("caught then"); };
seen.push(await ({} as any));
return seen;
