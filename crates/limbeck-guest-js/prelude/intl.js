// `Intl` and the `toLocale…` methods for American English and UTC, the only locale and time zone here.
//
// Programs format numbers and dates for people all the time, and nearly always like this. What would need
// other data is a RangeError that says so, never a result that looks right and is not. Tables of all
// locales would be many times the size of the engine.

const LOCALE = 'en-US';
const LOCALES = ['en', 'en-US', 'en-us', 'en_US', 'en-US-u-ca-gregory', 'en-US-u-nu-latn'];

/** Accepts the tags of American English. */
const checkLocales = (locales) => {
  const list = locales === undefined ? [] : isArray(locales) ? locales : [locales];
  for (let i = 0; i < list.length; i++) {
    const name = `${list[i]}`;
    if (arrayIncludes(LOCALES, name)) return;
    if (i === list.length - 1) {
      throw new RangeError(`locale "${name}" is not available here, only "${LOCALE}"; format by hand, or return plain numbers and ISO dates`);
    }
  }
};

/** One option out of `allowed`, as the specification's GetOption. */
const option = (options, name, allowed, fallback) => {
  const value = options?.[name];
  if (value === undefined) return fallback;
  if (typeof allowed[0] === 'boolean') return !!value;
  if (!arrayIncludes(allowed, `${value}`)) {
    throw new RangeError(`${name} "${value}" is not available here; there are ${arrayJoin(allowed, ', ')}`);
  }
  return `${value}`;
};

const digitsOption = (options, name, low, high, fallback) => {
  const value = options?.[name];
  if (value === undefined) return fallback;
  const digits = floor(+value);
  if (!(digits >= low && digits <= high)) throw new RangeError(`${name} ${value} is not from ${low} to ${high}`);
  return digits;
};

/** Throws for an option whose effect is not available, rather than leave it out. */
const refuse = (options, name) => {
  if (options?.[name] !== undefined) throw new RangeError(`${name} is not available here`);
};

const joinParts = (parts) => arrayJoin(arrayMap(parts, (part) => part.value), '');
const supportedLocalesOf = (locales) => {
  const list = locales === undefined ? [] : isArray(locales) ? locales : [locales];
  return arrayFilter(list, (name) => arrayIncludes(LOCALES, name));
};

/** English plural category of a number as it is printed. */
const cardinal = (value) => (value === 1 ? 'one' : 'other');
const ordinal = (value) => {
  const tens = value % 100;
  if (tens >= 11 && tens <= 13) return 'other';
  return ['other', 'one', 'two', 'few'][value % 10] ?? 'other';
};

// With them "1.0" is counted in another way than "1".
const DIGIT_OPTIONS = [
  'minimumFractionDigits', 'maximumFractionDigits', 'minimumSignificantDigits', 'maximumSignificantDigits', 'roundingMode',
];

class PluralRules {
  #rule;

  constructor(locales, options) {
    checkLocales(locales);
    this.#rule = option(options, 'type', ['cardinal', 'ordinal'], 'cardinal') === 'cardinal' ? cardinal : ordinal;
    for (let i = 0; i < DIGIT_OPTIONS.length; i++) refuse(options, DIGIT_OPTIONS[i]);
  }

  select(value) { return this.#rule(+value); }
  resolvedOptions() { return { locale: LOCALE, type: this.#rule === cardinal ? 'cardinal' : 'ordinal' }; }
}

class ListFormat {
  #word;
  #separator = ', ';

  constructor(locales, options) {
    checkLocales(locales);
    const type = option(options, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
    const style = option(options, 'style', ['long', 'short', 'narrow'], 'long');
    if (type === 'disjunction') this.#word = 'or ';
    else if (type === 'conjunction' && style !== 'narrow') this.#word = style === 'long' ? 'and ' : '& ';
    else this.#word = '';
    if (type === 'unit' && style === 'narrow') this.#separator = ' ';
  }

  format(list) {
    const items = arrayFrom(list);
    const last = items.length - 1;
    if (last < 1) return last === 0 ? `${items[0]}` : '';
    const head = arrayJoin(arraySlice(items, 0, last), this.#separator);
    const separator = last === 1 && this.#word !== '' ? ' ' : this.#separator;
    return `${head}${separator}${this.#word}${items[last]}`;
  }

  resolvedOptions() { return { locale: LOCALE }; }
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const NEAR = {
  day: { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' },
  second: { 0: 'now' },
};

class RelativeTimeFormat {
  #auto;

  constructor(locales, options) {
    checkLocales(locales);
    option(options, 'style', ['long'], 'long');
    this.#auto = option(options, 'numeric', ['always', 'auto'], 'always') === 'auto';
  }

  format(value, unit) {
    const singular = stringEndsWith(`${unit}`, 's') ? stringSlice(unit, 0, -1) : `${unit}`;
    if (!arrayIncludes(UNITS, singular)) throw new RangeError(`"${unit}" is not a unit; the units are ${arrayJoin(UNITS, ', ')}`);
    const number = +value;
    if (this.#auto) {
      const near = NEAR[singular]?.[number];
      if (near !== undefined) return near;
      if (arrayIncludes(['week', 'month', 'quarter', 'year'], singular) && abs(number) <= 1) {
        return `${number === 0 ? 'this' : number > 0 ? 'next' : 'last'} ${singular}`;
      }
      if (number === 0) return `this ${singular}`;
    }
    const size = abs(number);
    const text = `${plainNumber.format(size)} ${singular}${size === 1 ? '' : 's'}`;
    return number < 0 || 1 / number < 0 ? `${text} ago` : `in ${text}`;
  }

  resolvedOptions() { return { locale: LOCALE, style: 'long', numeric: this.#auto ? 'auto' : 'always' }; }
}

class Collator {
  #sensitivity;
  #numeric;
  #upperFirst;

  constructor(locales, options) {
    checkLocales(locales);
    this.#sensitivity = option(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant');
    this.#numeric = option(options, 'numeric', [true, false], false);
    this.#upperFirst = option(options, 'caseFirst', ['upper', 'lower', 'false'], 'false') === 'upper';
    if (options?.ignorePunctuation) refuse(options, 'ignorePunctuation');
  }

  get compare() {
    return (a, b) => native.collate(wellFormed(`${a}`), wellFormed(`${b}`), this.#sensitivity, this.#numeric, this.#upperFirst);
  }

  resolvedOptions() {
    return { locale: LOCALE, usage: 'sort', sensitivity: this.#sensitivity, numeric: this.#numeric };
  }
}

addMethods(String.prototype, {
  localeCompare(other, locales, options) {
    const [a, b] = [wellFormed(`${this}`), wellFormed(`${other}`)];
    if (locales === undefined && options === undefined) return native.collate(a, b, 'variant', false, false);
    return new Collator(locales, options).compare(a, b);
  },
  toLocaleUpperCase() { return stringToUpperCase(`${this}`); },
  toLocaleLowerCase() { return stringToLowerCase(`${this}`); },
});

addGlobals({ Intl: {} });
for (const type of [PluralRules, ListFormat, RelativeTimeFormat, Collator]) {
  addMethods(type, { supportedLocalesOf });
  addMethods(Intl, { [type.name]: type });
}
addMethods(Intl, { getCanonicalLocales: (locales) => (locales === undefined ? [] : arrayFrom(isArray(locales) ? locales : [locales])) });
defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
