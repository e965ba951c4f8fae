import { spawn } from "node:child_process";

/** The gateway. LIMBECK names another executable, LIMBECK_DIRECTORY the directory whose configuration it reads. */
const [program, ...before]: string[] = process.env.LIMBECK ? [process.env.LIMBECK] : ["PROGRAM", ...["ARGUMENTS"]];
const directory: string = process.env.LIMBECK_DIRECTORY ?? "DIRECTORY";

/** Calls a tool of the server. A tool that fails throws an error with its text. */
async function call(tool: string, params: object): Promise<unknown> {
  const words = [...before, "call", "--json", "--", "SERVER", tool, JSON.stringify(params)];
  const child = spawn(program, words, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const printed = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => { printed[0] += text; });
  child.stderr.setEncoding("utf8").on("data", (text: string) => { printed[1] += text; });
  await new Promise<void>((resolve, reject) => {
    child.on("error", (error: Error) => reject(new Error(`${program} could not be started: ${error.message}; set LIMBECK to its path`)));
    child.on("close", () => resolve());
  });
  if (printed[0].trim() === "") throw new Error(printed[1].trim() || `${program} printed nothing`);
  return unwrapped(JSON.parse(printed[0]));
}

/** What a result holds: its structured content, or else its text, as JSON where it is an object or a list. */
function unwrapped(result: any): unknown {
  const blocks: any[] = Array.isArray(result.content) ? result.content : [];
  const texts = blocks.filter((block) => block.type === "text").map((block) => block.text as string);
  if (result.isError) throw new Error(texts.join("\n") || "the tool failed");
  if (result.structuredContent !== undefined) return result.structuredContent;
  if (texts.length === 0 || texts.length !== blocks.length) return blocks.length === 0 ? null : blocks;
  const text = texts.join("\n");
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
