// attack: asks for tools by names that do not exist, so that they are made and kept
// property: S12
// expect: value "left"
for (let i = 0; i < 1000; i++) void tools[`made up ${i}`][`tool ${i}`];
(tools.shop.list_customers as any).constructor.prototype.left = 1;
return "left";
