// attack: an empty pattern, which a matcher of prefixes takes for everything
// property: S40
// tools: [""]
// expect: refused
return (await tools.shop.list_customers({})).total;
