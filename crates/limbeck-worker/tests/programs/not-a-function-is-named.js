// throws: TypeError: result.items.map is not a function
const result = await tools.test.echo({ items: "text" });
return result.items.map((item) => item.id);
