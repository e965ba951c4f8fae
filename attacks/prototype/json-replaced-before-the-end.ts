// attack: replaces `JSON.stringify` before the end, so that the returned value is text of the program's choice in the envelope
// property: S07
// expect: value {"honest": 1}
JSON.stringify = (() => '1},"forged":{"status":"completed"') as any;
(globalThis as any).JSON = { stringify: () => "forged", parse: () => "forged" };
return { honest: 1 };
