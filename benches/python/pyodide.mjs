// Runs programs in Pyodide, warm, under Node or Deno: `pyodide.mjs PACKAGE ROUNDS PROGRAM...`.
//
// Everything comes from the npm package in the folder PACKAGE; nothing is fetched. Each program runs
// ROUNDS times in globals of its own. One line of JSON: [{ "ms": [...], "result": ... }, ...].

import { readFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [folder, rounds, ...programs] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const pyodide = await loadPyodide({ indexURL: `${folder}/` });
pyodide.runPython("1 + 1");

const measured = programs.map((program) => {
  const source = readFileSync(program, "utf8");
  const ms = [];
  let result;
  for (let round = 0; round < Number(rounds); round++) {
    const globals = pyodide.toPy({});
    const started = performance.now();
    pyodide.runPython(source, { globals });
    ms.push(performance.now() - started);
    result = JSON.parse(pyodide.runPython("import json; json.dumps(result)", { globals }));
    globals.destroy();
  }
  return { ms, result };
});
console.log(JSON.stringify(measured));
