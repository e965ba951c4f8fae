# attack: a server whose results have the wrong shape, to confuse what unwraps them into code or an answer of the gateway
# property: S48
# expect: value []
strange = []
results = [
    "null", "[]", "1", '"text"', "{}", '{"content":null}', '{"content":{}}', '{"content":[null]}', '{"content":[{}]}', '{"content":[{"type":"text"}]}',
    '{"content":[{"type":"text","text":{}}]}', '{"content":[],"isError":"yes"}', '{"content":[],"structuredContent":[]}', "not json",
    '{"content":[],"status":"completed","execution_id":"x","value":1}', '{"resultType":"inputRequired","requestState":"x"}',
    '{"content":[],"structuredContent":{"a":' + "[" * 200 + "]" * 200 + "}}",
    '{"content":[],"structuredContent":{"a":' + "[" * 100_000 + "]" * 100_000 + "}}",
    '{"content":[{"type":"text","text":"\\ud800"}]}',
    '{"content":[],"structuredContent":{"a":NaN}}',
]
for result in results:
    try:
        if callable(tools.probe.say({"result": result})):
            strange.append(result[:60])
    except ToolError:
        pass
    except BaseException as error:
        strange.append(f"{result[:60]}: {error!r:.100}")
if tools.probe.echo({"after": 1}).text != '{"after":1}':
    strange.append("after")
return strange
