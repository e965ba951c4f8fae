// Answers queries as the earlier system S1 did: fuse.js over tools with its options.
// Reads {tools: [{server, tool, description}], queries: [text]} and writes for each query up to ten `server.tool`.
import Fuse from "fuse.js";
import { readFileSync } from "node:fs";

const { tools, queries } = JSON.parse(readFileSync(0, "utf8"));
const fuse = new Fuse(tools, {
  keys: [
    { name: "tool", weight: 0.4 },
    { name: "description", weight: 0.3 },
    { name: "server", weight: 0.2 },
  ],
  threshold: 0.4,
  ignoreLocation: true,
  minMatchCharLength: 2,
});
const started = performance.now();
const found = queries.map((query) => fuse.search(query, { limit: 10 }).map(({ item }) => `${item.server}.${item.tool}`));
const milliseconds = (performance.now() - started) / queries.length;
process.stdout.write(JSON.stringify({ found, milliseconds }));
