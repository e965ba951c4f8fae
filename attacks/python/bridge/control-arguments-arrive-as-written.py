# control: plain arguments reach the server byte for byte, so a change on the way would be seen
# property: S07
# expect: value "{\"a\":[1,\"x\",null,true,{\"b\":-0.5}],\"é\":\"\\u0000\"}"
return tools.probe.echo(a=[1, "x", None, True, {"b": -0.5}], **{"é": "\0"}).text
