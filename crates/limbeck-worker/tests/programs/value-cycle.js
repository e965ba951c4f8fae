// throws: value.children[0].parent refers back to value; JSON cannot hold a cycle
const parent = { children: [{}] };
parent.children[0].parent = parent;
return parent;
