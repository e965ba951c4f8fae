// Prints how many tokens of o200k each text of a file has. Arguments: where the packages are, and a JSON array of texts.
const { readFileSync } = require("node:fs");
const [packages, texts] = process.argv.slice(2);
const { countTokens } = require(`${packages}/gpt-tokenizer/cjs/encoding/o200k_base`);

const counts = JSON.parse(readFileSync(texts, "utf8")).map((text) => countTokens(text));
console.log(JSON.stringify(counts));
