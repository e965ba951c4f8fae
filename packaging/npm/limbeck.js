#!/usr/bin/env node
// Starts the executable of this machine, which npm installed beside this package, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = `limbeck-${platform}`;
const file = process.platform === "win32" ? "limbeck.exe" : "limbeck";

function fail(why, next) {
  process.stderr.write(`limbeck: ${why}\n${next}\n`);
  process.exit(1);
}

// The header of the report has the version of glibc where that is the C library. Without network, which it would read.
function usesGlibc() {
  process.report.excludeNetwork = true;
  return Boolean(process.report.getReport().header.glibcVersionRuntime);
}

function executable() {
  const builds = Object.keys(require("../package.json").optionalDependencies);
  if (!builds.includes(name)) {
    fail(`there is no build for ${platform}.`, "Build it from source: see https://github.com/limbeck/limbeck");
  }
  if (process.platform === "linux" && !usesGlibc()) {
    fail(
      "this Linux has another C library than glibc (Alpine has musl), and there is no build for it.",
      "Use an image with glibc, such as node:20-slim, or build it from source.",
    );
  }
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    fail(
      `its executable for ${platform} (package ${name}) is not installed.`,
      "npm leaves it out with --omit=optional and --no-optional: install again without that option.",
    );
  }
}

const child = spawn(executable(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`it could not be started: ${error.message}`, "Install the package again."));

// A key of a terminal sends its signal to the child too, for which a second one would mean more.
const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of signals) {
  const fromKey = onTerminal && (signal === "SIGINT" || signal === "SIGQUIT");
  process.on(signal, () => fromKey || child.kill(signal));
}

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of signals) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // A signal that this process ignores leaves it running: shells report 128 and the signal's number.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
