// value: [["ToolError","invalid_arguments","artifacts.open takes an artifact's id; got \"ex_1\"",true],["ToolError","invalid_arguments","artifacts.open takes an artifact's id; got a number",true],["TypeError",null,"artifact.select takes a string; got a number",false]]
const said = (error) => [error.name, error.code ?? null, error.message, (error.hint ?? '').includes('art_')];
const found = [];
for (const id of ['ex_1', 7]) {
  try {
    artifacts.open(id);
  } catch (error) {
    found.push(said(error));
  }
}
await artifacts.open('art_' + 'a'.repeat(32)).select(1).catch((error) => found.push(said(error)));
return found;
