// The second generation of the TypeScript SDK as a client. Arguments as those of sdk_v1.mjs; the era in the
// environment variable ERA is `auto` or `legacy`.
import { createRequire } from "node:module";

const [packages, calls, command, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const client = new Client({ name: "sdk-v2", version: "1" }, { versionNegotiation: { mode: process.env.ERA } });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) results.push(await client.callTool(call));
const server = client.getServerVersion().name;
const revision = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ server, revision, tools: tools.map(({ name }) => name), results }));
