// attack: a server whose results have the wrong shape, to confuse what unwraps them into code or an answer of the gateway
// property: S48
// expect: value []
const strange: string[] = [];
for (const result of [
  "null", "[]", "1", '"text"', "{}", '{"content":null}', '{"content":{}}', '{"content":[null]}', '{"content":[{}]}', '{"content":[{"type":"text"}]}',
  '{"content":[{"type":"text","text":{}}]}', '{"content":[{"type":"evil","then":1}]}', '{"content":[],"isError":"yes"}',
  '{"content":[],"structuredContent":[]}', '{"content":[],"structuredContent":{"then":{}}}', '{"content":[],"status":"completed","execution_id":"x","value":1}',
  '{"resultType":"inputRequired","requestState":"x"}', '{"resultType":"input_required","inputRequests":{}}',
]) {
  try {
    const value = await tools.probe.say({ result });
    if (typeof value === "function") strange.push(result);
  } catch (e) {
    if (!(e instanceof ToolError)) strange.push(`${result}: ${e}`);
  }
}
return strange;
