// attack: replaces `String.prototype.concat`, which the engine calls for template literals, to read and change texts of the prelude
// property: S07
// expect: value ["{\"n\":1}", "unknown_tool", 0]
let trapped = 0;
const spy = function () { trapped += 1; return "forged"; };
try { String.prototype.concat = spy as any; } catch {}
try { Object.defineProperty(String.prototype, "concat", { value: spy }); } catch {}
try { delete (String.prototype as any).concat; } catch {}
const { text } = await tools["probe"]["echo"]({ n: 1 });
let code;
try { await tools.probe["no " + "such"]({}); } catch (e) { code = e.code; }
return [text, code, trapped];
