// attack: changes, extends and deletes members of what the gateway hands out, so that later code calls the program instead
// property: S06
// expect: value []
const changed: string[] = [];
const attempt = (name: string, target: any, key: string) => {
  const before = target[key];
  try { target[key] = () => "forged"; } catch {}
  try { Object.defineProperty(target, key, { value: () => "forged" }); } catch {}
  try { delete target[key]; } catch {}
  try { Object.setPrototypeOf(target, { forged: 1 }); } catch {}
  if (target[key] !== before || Object.getPrototypeOf(target)?.forged !== undefined) changed.push(name);
};
attempt("store.get", store, "get");
attempt("store.set", store, "set");
attempt("tools.shop", tools, "shop");
attempt("tools.shop.list_customers", tools.shop, "list_customers");
attempt("raw", tools.shop.list_customers, "raw");
attempt("crypto.randomUUID", crypto, "randomUUID");
attempt("crypto.subtle.digest", crypto.subtle, "digest");
attempt("budget", budget, "calls");
return changed;
