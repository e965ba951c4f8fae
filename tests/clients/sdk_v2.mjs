// The second generation of the TypeScript SDK as a client. Arguments as those of sdk_v1.mjs; the era in the
// environment variable ERA is `auto` or `legacy`.
import { createRequire } from "node:module";

const [packages, calls, server, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const transport = server.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(server), { requestInit: { headers: { Authorization: args[0] } } })
  : new StdioClientTransport({ command: server, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "sdk-v2", version: "1" }, { versionNegotiation: { mode: process.env.ERA } });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) results.push(await client.callTool(call));
const name = client.getServerVersion().name;
const revision = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ server: name, revision, tools: tools.map(({ name }) => name), results }));
