// control: the walk over the object graph does reach a function behind getters and prototypes
// property: S08
// expect: value true
const hidden = Array.prototype.push;
class A { get deep() { return 1; } }
Object.defineProperty(A.prototype, "inner", { get: hidden as any });
const seen = new Set<object>();
let met = false;
const visit = (value: any) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
  seen.add(value);
  met ||= value === hidden;
  for (const key of Reflect.ownKeys(value)) {
    const d = Object.getOwnPropertyDescriptor(value, key);
    [d.value, d.get, d.set].forEach(visit);
  }
  visit(Object.getPrototypeOf(value));
};
visit(Object.create(new A()));
return met;
