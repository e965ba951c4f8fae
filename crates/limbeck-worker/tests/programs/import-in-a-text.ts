// value: ["import('x')","await import(\"x\")",1,"import.meta.url"]
// import("fs") and import.meta in a comment.
/* import fs from "fs"; await import("fs"); */
const text = "import('x')";
return [text, `await import("x")`, /import\("(.)"\)/.exec('import("y")')!.length - 1, "import.meta.url"];
