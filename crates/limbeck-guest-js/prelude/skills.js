// `skills`: functions and programs that are kept for later programs. `skills.name(args)` asks for the source and runs it
// here, so that its calls are calls of this program.

// Under another name it evaluates in the scope of the globals, and not in this one.
const { eval: evaluate } = globalThis;

const SKILL_OPTIONS = ['name', 'description', 'helpers', 'ifVersion', 'execution'];
const CANDIDATES_MAX = 2_000;
const HELPERS_MAX = 100;
const NATIVE_CODE = /\{\s*\[native code\]\s*\}\s*$/;
const FUNCTION_ARGUMENTS = /^(?:async\s+)?(?:function\s*\*?\s*[\w$]*\s*)?(\([^)]*\)|[\w$]+\s*(?==>))/;

/** Adds `words` the names that a piece of code reads, as far as its text shows: no strings, comments and members. */
const readNames = (code, words) => {
  const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|([A-Za-z_$][\w$]*)|\//g;
  const pattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\/\w*/y;
  let before = '';
  let at = 0;
  for (let found = regexpExec(token, code); found !== null; found = regexpExec(token, code)) {
    const between = stringTrim(stringSlice(code, at, found.index));
    if (between !== '') before = between[between.length - 1];
    at = found.index + found[0].length;
    const word = found[1];
    // A pattern, where a division cannot be.
    if (found[0] === '/' && stringIncludes('(,=:[!&|?{};', before)) {
      pattern.lastIndex = found.index;
      if (regexpExec(pattern, code) !== null) token.lastIndex = at = pattern.lastIndex;
      before = 'a';
      continue;
    }
    if (word === undefined) continue;
    const isKey = (before === '{' || before === ',') && regexpExec(/^\s*:/, stringSlice(code, at, at + 40)) !== null;
    if (before !== '.' && !isKey) words.set(word, true);
    before = 'a';
  }
};

/** Names of parameters in a piece of code, as far as its text shows. */
const parametersIn = (code) => {
  const bound = new SafeMap();
  const list = /(?<!\b(?:if|while|for|switch|with)\s*)\(([^()]*)\)\s*(?:=>|\{)|([A-Za-z_$][\w$]*)\s*=>/g;
  for (let found = regexpExec(list, code); found !== null; found = regexpExec(list, code)) {
    const parts = stringSplit(found[1] ?? found[2], ',');
    // Without defaults, which may name anything.
    for (let i = 0; i < parts.length; i++) readNames(stringSplit(parts[i], '=')[0], bound);
  }
  return bound;
};

/** The script of this program. */
const programScript = () => {
  const lines = [];
  for (let number = 1, line = native.sourceLine(1); line !== undefined; line = native.sourceLine(++number)) arrayPush(lines, line);
  return arrayJoin(lines, '\n');
};

const parses = (text) => passes(() => new Function(text));

/** Where a name is declared in a script: `{at, text}`, the text undefined for what cannot be kept. Nothing for other names. */
const declarationOf = (script, name) => {
  const escaped = stringReplaceAll(name, '$', '\\$');
  const plain = new RegExp(`(?:^|[;{}\\n])\\s*(async\\s+function\\s*\\*?|function\\s*\\*?|class|const|let|var)\\s+${escaped}(?![\\w$])`);
  const found = regexpExec(plain, script);
  if (found === null) {
    const taken = new RegExp(`(?:const|let|var)\\s*[{[][^=;]*(?<![\\w$.])${escaped}(?![\\w$])[^=;]*[}\\]]\\s*=`);
    const at = regexpExec(taken, script);
    return at === null ? undefined : { at: at.index, text: undefined };
  }
  const at = found.index + stringIndexOf(found[0], found[1]);
  const isValue = arrayIncludes(['const', 'let', 'var'], found[1]);
  const end = isValue ? ';' : '}';
  const begin = isValue ? found.index + found[0].length : at;
  for (let to = stringIndexOf(script, end, begin), tries = 0; to >= 0 && tries < CANDIDATES_MAX; to = stringIndexOf(script, end, to + 1), tries++) {
    if (!isValue) {
      const text = stringSlice(script, at, to + 1);
      if (parses(`(${text}\n)`)) return { at, text };
      continue;
    }
    const value = stringTrim(stringSlice(script, begin, to));
    if (value === '') return { at, text: `let ${name};` };
    if (value[0] === '=' && parses(`return (${stringSlice(value, 1)}\n)`)) return { at, text: `${found[1]} ${name} ${value};` };
  }
  return { at, text: undefined };
};

/** What a function uses of the program around it, as declarations in their order. */
const helpersOf = (text, given, label) => {
  const script = programScript();
  const kept = new SafeMap();
  const missing = [];
  const declarations = [];
  const waiting = [text];
  const names = keys(given);
  for (let i = 0; i < names.length; i++) {
    const value = given[names[i]];
    const code = typeof value === 'function' ? functionToString(value) : jsonStringify(value);
    if (!isIdentifier(names[i]) || code === undefined || regexpExec(NATIVE_CODE, code) !== null) {
      throw typeError(`${label}: the helper ${jsonStringify(names[i])} is neither a function of the program nor a value that JSON holds`);
    }
    kept.set(names[i], true);
    arrayPush(declarations, { at: -1, text: `const ${names[i]} = ${code};` });
    if (typeof value === 'function') arrayPush(waiting, code);
  }
  while (waiting.length > 0 && kept.size < HELPERS_MAX) {
    const code = waiting.pop();
    const words = new SafeMap();
    readNames(code, words);
    const bound = parametersIn(code);
    words.forEach((_, word) => {
      if (kept.has(word) || hasOwn(globalThis, word) || bound.has(word) || declarationOf(code, word) !== undefined) return;
      const found = declarationOf(script, word);
      if (found === undefined || stringIncludes(text, found.text ?? '\0')) return;
      kept.set(word, true);
      if (found.text === undefined) arrayPush(missing, word);
      else {
        arrayPush(declarations, found);
        arrayPush(waiting, found.text);
      }
    });
  }
  if (missing.length > 0) {
    const list = arrayJoin(arrayMap(missing, (name) => `\`${name}\``), ', ');
    throw new ToolError(`${label}: the function uses ${list} of this program, which cannot be kept with it`, {
      __proto__: null,
      code: 'invalid_arguments',
      hint: 'pass it to the function as an argument, or give its value now: `skills.save(f, { helpers: { name } })`',
    });
  }
  return arrayMap(arraySort(declarations, (a, b) => a.at - b.at), (one) => one.text);
};

/** The source of a function with what it uses: an expression whose value is the function. */
const sourceOfFunction = (made, given, label) => {
  const text = functionToString(made);
  if (regexpExec(NATIVE_CODE, text) !== null) throw typeError(`${label} takes a function of the program; got one of the language`);
  if (!parses(`return (${text}\n)`)) throw typeError(`${label} takes a function by itself, and no method; write \`async (args) => …\``);
  const helpers = helpersOf(text, given, label);
  return helpers.length === 0 ? `(${text}\n)` : `(() => {\n${arrayJoin(helpers, '\n')}\nreturn ${text};\n})()`;
};

/** Functions of skills that this program called, by name. */
const loadedSkills = new SafeMap();

const runnerOf = ({ form, source }) => {
  if (form !== 'program') return evaluate(`"use strict";${source}`);
  const run = evaluate(`(input, globalThis) => ${source}()`);
  return (input = null) => run(input, create(globalThis, { input: { __proto__: null, value: input } }));
};

const loadSkill = async (name) => runnerOf(await ask(OP.skill, { do: 'get', name }, `skills.${name}`));

const makeSkill = (name) => {
  const label = memberLabel('skills', name);
  const call = async (...args) => {
    let loaded = loadedSkills.get(name);
    if (loaded === undefined) {
      loaded = loadSkill(name);
      loadedSkills.set(name, loaded);
    }
    const run = await loaded;
    try {
      return await apply(run, undefined, args);
    } catch (error) {
      // The places of its code are not in the program. Errors of calls name their tools.
      const message = readText(error, 'message');
      if (isError(error) && !(error instanceof ToolError) && message !== undefined && !stringStartsWith(message, 'skills.')) {
        error.message = `${label}: ${message}`;
      }
      throw error;
    }
  };
  define(call, 'name', label);
  define(call, 'toString', () => `[${label}]`);
  return freeze(call);
};

/**
 * `skills.save(function, {name?, description?, helpers?, ifVersion?})`, or `skills.save({name, execution, description?})` for the
 * program of an execution that completed.
 */
const saveSkill = (target, options) => askWith(OP.skill, 'skills.save', () => {
  const label = 'skills.save';
  // Some write the name first.
  if (typeof target === 'string') [target, options] = [options, { name: target }];
  const isFunction = typeof target === 'function';
  const given = (isFunction ? options : target) ?? {};
  if (!isObject(given)) throw typeError(`${label} takes a function and an object of options; got ${describeType(given)}`);
  const strange = arrayFilter(keys(given), (key) => !arrayIncludes(SKILL_OPTIONS, key));
  if (strange.length > 0) throw typeError(`${label} has no option ${jsonStringify(strange[0])}; it has ${arrayJoin(SKILL_OPTIONS, ', ')}`);
  if (!isFunction && typeof given.execution !== 'string') {
    throw typeError(`${label} takes a function, or {name, execution} with the id of an execution that completed`);
  }
  const name = given.name ?? (isFunction ? target.name : undefined);
  if (typeof name !== 'string' || name === '') throw typeError(`${label}: the function has no name; give one: skills.save(f, { name: "report" })`);
  const body = { do: 'save', name };
  if (given.description !== undefined) body.description = requireText(given.description, label);
  if (given.ifVersion !== undefined) body.if_version = given.ifVersion;
  if (isFunction) {
    body.source = sourceOfFunction(target, given.helpers ?? {}, label);
    const args = regexpExec(FUNCTION_ARGUMENTS, functionToString(target))?.[1];
    if (args !== undefined) body.arguments = args[0] === '(' ? args : `(${stringTrim(args)})`;
  } else {
    body.execution = given.execution;
  }
  loadedSkills.delete(name);
  return body;
});

const SKILL_MEMBERS = freeze({
  __proto__: null,
  save: saveSkill,
  list: () => ask(OP.skill, { do: 'list' }, 'skills.list'),
  remove: (name, options) => askWith(OP.skill, 'skills.remove', () => {
    const body = { do: 'remove', name: requireText(name, 'skills.remove') };
    if (options?.ifVersion !== undefined) body.if_version = options.ifVersion;
    loadedSkills.delete(name);
    return body;
  }),
  get: (name) => makeSkill(requireText(name, 'skills.get')),
});

const skills = makeDirectory('skills', (name) => SKILL_MEMBERS[name] ?? makeSkill(name), () => []);

addFixedGlobals({ skills });
addGlobals({ saveSkill, saveTool: saveSkill, save_tool: saveSkill });
