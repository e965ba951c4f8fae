// attack: an empty pattern, which a matcher of prefixes takes for everything
// property: S40
// tools: [""]
// expect: error request
return (await tools.shop.list_customers({})).total;
