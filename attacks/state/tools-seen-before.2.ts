// attack: looks for tools that the program before made up
// property: S12
// expect: value [["probe", "shop"], null]
return [Object.keys(tools).sort(), (tools.shop.list_customers as any).left];
