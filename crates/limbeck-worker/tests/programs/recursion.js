// value: [true,"RangeError",true]
let depth = 0;
const dive = () => { depth += 1; dive(); };
let name;
try {
  dive();
} catch (error) {
  name = error.name;
}
const after = await tools.test.echo({ ok: true });
return [depth >= 10000, name, after.ok];
