// value: [{"a":1},"plain text",7,{"type":"image","data":"x"},[{"type":"text","text":"a"},{"type":"text","text":"b"}],[],{"no":"content"}]
const call = (args) => callMCPTool("test", "echo", args);
const text = (...texts) => ({ content: texts.map((text) => ({ type: "text", text })) });
return [
  await call(text('{"a":1}')), await call(text("plain text")), await call(text("7")),
  await call({ content: [{ type: "image", data: "x" }] }), await call(text("a", "b")), await call({ content: [] }),
  await call({ no: "content" }),
];
