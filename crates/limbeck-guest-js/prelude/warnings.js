// Warnings: sentences of the envelope beside what the program returns and prints.

const WARNING = 2;
const WARNINGS_MAX = 10;
const warned = new SafeMap();

/** Adds a warning to the envelope, each text once. */
const warn = (text) => {
  if (warned.size >= WARNINGS_MAX || warned.has(text)) return;
  warned.set(text, true);
  native.log(WARNING, wellFormed(text));
};
