// The first generation of the TypeScript SDK as a client. Arguments: where the packages are, a JSON array of calls
// (name, arguments), and the server: a command line, or a URL and its `Authorization`. Prints what it saw as JSON.
import { createRequire } from "node:module";

const [packages, calls, server, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const transport = server.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(server), { requestInit: { headers: { Authorization: args[0] } } })
  : new StdioClientTransport({ command: server, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "sdk-v1", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) results.push(await client.callTool(call));
await client.close();
console.log(JSON.stringify({ server: client.getServerVersion().name, tools: tools.map(({ name }) => name), results }));
