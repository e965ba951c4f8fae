// attack: text around blocks of code, with a block that closes early and another that hides
// property: S31
// build: [["Here:\n```ts\nreturn 'first';\n```\nand\n```ts\nreturn 'second';\n```\n", 1]]
// expect: value "first"
// warning: 2 code blocks
