// `llm`: questions to a model, which the gateway puts to the client or to the provider that the user configured.

const LLM_OPTIONS = freeze(['systemPrompt', 'maxTokens', 'model', 'schema', 'stream']);
/** Names by which other libraries know these options. */
const LLM_SYNONYMS = freeze({ __proto__: null, system: 'systemPrompt', system_prompt: 'systemPrompt', max_tokens: 'maxTokens' });
const LLM_MAP_AT_ONCE = 4;
const LLM_MAP_AT_ONCE_MAX = 16;

/** What the run may ask, and what was left with the newest answer. */
let llmTerms;
let llmLeft;

const noteLeft = (left) => {
  // Answers come in the order in which they were counted; what a question reserved and did not use comes back.
  if (isObject(left)) llmLeft = left;
};

/** The options under their own names. One that is not known has no effect, and a warning says so. */
const llmOptions = (label, given) => {
  const options = { __proto__: null };
  if (given === undefined || given === null) return options;
  if (!isObject(given)) throw typeError(`${label} takes options as an object; got ${describeType(given)}`);
  const names = keys(given);
  for (let i = 0; i < names.length; i++) {
    const name = LLM_SYNONYMS[names[i]] ?? names[i];
    if (given[names[i]] === undefined || given[names[i]] === null) continue;
    if (arrayIncludes(LLM_OPTIONS, name)) options[name] = given[names[i]];
    else warn(`${label}: \`${names[i]}\` is not an option and has no effect; the options are ${arrayJoin(LLM_OPTIONS, ', ')}`);
  }
  return options;
};

/** The text of an answer in pieces. The whole answer is there, because the journal has it before the program does. */
async function* llmPieces(text) {
  if (text !== '') yield text;
}

const readLlmAnswer = async (asked, options) => {
  const answer = await asked;
  noteLeft(answer.left);
  if (options.schema !== undefined) return answer.value;
  return options.stream === true ? llmPieces(answer.text) : answer.text;
};

/** Puts a question: `{prompt}` or `{messages}`. */
const askLlm = (action, question, options) => {
  const { systemPrompt, maxTokens, model, schema } = options;
  const asked = ask(OP.llm, { do: action, ...question, systemPrompt, maxTokens, model, schema }, `llm.${action}`);
  const answer = inRaceOf(asked, readLlmAnswer(asked, options));
  if (options.stream === true) {
    // `for await (const piece of llm.ask(…))` without the `await` of the promise.
    define(answer, Symbol.asyncIterator, async function* pieces() { yield* await answer; });
  }
  return answer;
};

const rejecting = (work) => {
  try {
    return work();
  } catch (error) {
    return promiseReject(error);
  }
};

const llm = freeze({
  /** `llm.ask(prompt, {systemPrompt, maxTokens, model, schema, stream})`: the text of the answer, or the value that fits `schema`. */
  ask: (prompt, options) => rejecting(() => (
    askLlm('ask', { prompt: requireText(prompt, 'llm.ask') }, llmOptions('llm.ask', options))
  )),

  /** `llm.think({messages, …})` or `llm.think(messages, options?)`. */
  think: (conversation, options) => rejecting(() => {
    if (isArray(conversation)) return askLlm('think', { messages: conversation }, llmOptions('llm.think', options));
    if (!isObject(conversation) || !isArray(conversation.messages)) {
      throw typeError('llm.think takes messages, such as [{role: "user", content: "…"}], or {messages: […]}');
    }
    const { messages, ...rest } = conversation;
    return askLlm('think', { messages }, llmOptions('llm.think', rest));
  }),

  /** `llm.map(items, prompt, {concurrency, …})`: the answers, in the order of the items. */
  map: (items, prompt, given) => rejecting(async () => {
    if (!isArray(items)) throw typeError(`llm.map takes a list of items; got ${describeType(items)}`);
    if (typeof prompt !== 'function') requireText(prompt, 'llm.map');
    const { concurrency, ...rest } = given ?? {};
    const options = llmOptions('llm.map', rest);
    const promptOf = (item, index) => (
      typeof prompt === 'function' ? prompt(item, index) : `${prompt}\n\n${typeof item === 'string' ? item : jsonStringify(item)}`
    );
    const atOnce = max(1, min(LLM_MAP_AT_ONCE_MAX, trunc(concurrency ?? LLM_MAP_AT_ONCE) || 1));
    const answers = [];
    let next = 0;
    let hasFailed = false;
    const work = async () => {
      while (next < items.length && !hasFailed) {
        const index = next++;
        try {
          const text = requireText(await promptOf(items[index], index), 'llm.map');
          answers[index] = await askLlm('ask', { prompt: text }, options);
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      }
    };
    const workers = [];
    for (let i = 0; i < atOnce && i < items.length; i++) arrayPush(workers, work());
    await promiseAll(workers);
    return answers;
  }),
});

/** What is left of the questions that this run may ask. */
const llmBudget = () => {
  const left = llmLeft ?? llmTerms;
  return isObject(left) ? { rounds: left.rounds, tokens: left.tokens } : { rounds: 0, tokens: 0 };
};

addFixedGlobals({ llm });
