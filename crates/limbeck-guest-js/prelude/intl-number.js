// `Intl.NumberFormat` and `toLocaleString` of numbers.

// Symbols as American English has them; any other currency is written with its code.
const CURRENCY_SYMBOLS = {
  USD: '$', EUR: '€', GBP: '£', JPY: '¥', CAD: 'CA$', AUD: 'A$', CNY: 'CN¥', INR: '₹', KRW: '₩', BRL: 'R$', MXN: 'MX$',
  NZD: 'NZ$', HKD: 'HK$', ILS: '₪', VND: '₫', PHP: '₱', TWD: 'NT$',
};
const CURRENCY_NAMES = {
  USD: ['US dollar', 'US dollars'], EUR: ['euro', 'euros'], GBP: ['British pound', 'British pounds'],
  JPY: ['Japanese yen', 'Japanese yen'],
};
// ISO 4217: currencies without a minor unit, of those people write.
const CURRENCIES_WHOLE = ['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'PYG', 'UGX', 'XAF', 'XOF', 'XPF', 'RWF', 'KMF', 'GNF', 'DJF', 'BIF', 'VUV'];
const COMPACT = [['', ''], ['K', ' thousand'], ['M', ' million'], ['B', ' billion'], ['T', ' trillion']];
const UNIT_LABELS = {
  percent: ['%', '%', ' percent'], kilometer: [' km', 'km', ' kilometer'], meter: [' m', 'm', ' meter'],
  centimeter: [' cm', 'cm', ' centimeter'], millimeter: [' mm', 'mm', ' millimeter'], mile: [' mi', 'mi', ' mile'],
  kilogram: [' kg', 'kg', ' kilogram'], gram: [' g', 'g', ' gram'], liter: [' L', 'L', ' liter'],
  byte: [' byte', 'B', ' byte'], kilobyte: [' kB', 'kB', ' kilobyte'], megabyte: [' MB', 'MB', ' megabyte'],
  gigabyte: [' GB', 'GB', ' gigabyte'], terabyte: [' TB', 'TB', ' terabyte'], second: [' sec', 's', ' second'],
  millisecond: [' ms', 'ms', ' millisecond'], minute: [' min', 'm', ' minute'], hour: [' hr', 'h', ' hour'],
  day: [' day', 'd', ' day'], celsius: ['°C', '°C', ' degree Celsius'], fahrenheit: ['°F', '°', ' degree Fahrenheit'],
};
const UNIT_DISPLAYS = ['short', 'narrow', 'long'];

/** The shortest decimal that reads back as `value`: its digits, and how many of them are whole. */
const decimalOf = (value) => {
  if (typeof value === 'bigint') {
    const digits = `${value < 0n ? -value : value}`;
    return { digits, whole: digits.length };
  }
  const [mantissa, exponent] = stringSplit(numberToExponential(abs(value)), 'e');
  const digits = stringReplaceAll(mantissa, '.', '');
  return value === 0 ? { digits: '', whole: 0 } : { digits, whole: +exponent + 1 };
};

// What each mode of rounding does with the size of a positive and of a negative number.
const ROUNDING = {
  ceil: ['up', 'down'], floor: ['down', 'up'], expand: ['up', 'up'], trunc: ['down', 'down'],
  halfCeil: ['halfUp', 'halfDown'], halfFloor: ['halfDown', 'halfUp'], halfExpand: ['halfUp', 'halfUp'],
  halfTrunc: ['halfDown', 'halfDown'], halfEven: ['halfEven', 'halfEven'],
};
setPrototypeOf(ROUNDING, null);

/** Whether the last digit of `kept` is raised for the digits `rest` behind it. */
const isRaised = (kept, rest, rounding) => {
  const left = trimZeros(rest);
  if (left === '' || rounding === 'down') return false;
  if (rounding === 'up' || left > '5') return true;
  if (left < '5' || rounding === 'halfDown') return false;
  return rounding === 'halfUp' || (kept !== '' && +kept[kept.length - 1] % 2 === 1);
};

/** Keeps the first `count` digits and rounds; `count` may be zero or less. */
const roundDigits = ({ digits, whole }, count, rounding) => {
  if (count >= digits.length) return { digits, whole };
  const kept = stringSlice(digits, 0, max(count, 0));
  const rest = count < 0 ? stringRepeat('0', -count) + digits : stringSlice(digits, count);
  if (!isRaised(kept, rest, rounding)) return count < 0 ? { digits: '', whole: 0 } : { digits: kept, whole };
  let i = count - 1;
  while (i >= 0 && kept[i] === '9') i -= 1;
  if (i < 0) return { digits: '1', whole: whole + 1 - min(count, 0) };
  return { digits: `${stringSlice(kept, 0, i)}${+kept[i] + 1}`, whole };
};

/** Whole and fractional digits as text. */
const splitDecimal = ({ digits, whole }, fractionMin) => {
  if (whole <= 0) {
    const fraction = digits === '' ? '' : stringRepeat('0', -whole) + digits;
    return ['', stringPadEnd(trimZeros(fraction), fractionMin, '0')];
  }
  const padded = stringPadEnd(digits, whole, '0');
  return [stringSlice(padded, 0, whole), stringPadEnd(trimZeros(stringSlice(padded, whole)), fractionMin, '0')];
};

const trimZeros = (text) => {
  let end = text.length;
  while (end > 0 && text[end - 1] === '0') end -= 1;
  return stringSlice(text, 0, end);
};

const groupThousands = (text) => {
  const groups = [];
  for (let end = text.length; end > 0; end -= 3) arrayPush(groups, stringSlice(text, max(0, end - 3), end));
  return arrayReverse(groups);
};

class NumberFormat {
  #options;

  constructor(locales, options) {
    checkLocales(locales);
    const style = option(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
    const notation = option(options, 'notation', ['standard', 'compact'], 'standard');
    const resolved = { locale: LOCALE, numberingSystem: 'latn', style };
    if (style === 'currency') readCurrency(resolved, options);
    if (style === 'unit') readUnit(resolved, options);
    resolved.notation = notation;
    if (notation === 'compact') resolved.compactDisplay = option(options, 'compactDisplay', ['short', 'long'], 'short');
    readDigits(resolved, options);
    readRounding(resolved, options);
    const grouping = options?.useGrouping;
    resolved.useGrouping = grouping === undefined || grouping === true || grouping === 'auto' || grouping === 'always'
      || (grouping === 'min2' && 'min2');
    resolved.signDisplay = option(options, 'signDisplay', ['auto', 'always', 'never', 'exceptZero', 'negative'], 'auto');
    this.#options = resolved;
    // The specification's getter gives a bound function; programs pass it to `map`.
    define(this, 'format', (value) => joinParts(this.formatToParts(value)));
  }

  formatToParts(value) { return numberParts(toNumeric(value), this.#options); }
  resolvedOptions() { return { ...this.#options }; }
}

const toNumeric = (value) => (typeof value === 'bigint' ? value : +value);

const readCurrency = (resolved, options) => {
  const currency = options.currency;
  if (currency === undefined) throw typeError('style "currency" needs a `currency` such as "USD"');
  if (regexpExec(/^[A-Za-z]{3}$/, `${currency}`) === null) throw new RangeError(`"${currency}" is not a currency code`);
  resolved.currency = stringToUpperCase(`${currency}`);
  resolved.currencyDisplay = option(options, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol');
  resolved.currencySign = option(options, 'currencySign', ['standard', 'accounting'], 'standard');
  if (resolved.currencyDisplay === 'name' && CURRENCY_NAMES[resolved.currency] === undefined) {
    throw new RangeError(`the name of ${resolved.currency} is not available here; use currencyDisplay "code"`);
  }
};

const readUnit = (resolved, options) => {
  if (options.unit === undefined) throw typeError('style "unit" needs a `unit` such as "kilometer"');
  resolved.unit = option(options, 'unit', keys(UNIT_LABELS), undefined);
  resolved.unitDisplay = option(options, 'unitDisplay', UNIT_DISPLAYS, 'short');
};

const readDigits = (resolved, options) => {
  resolved.minimumIntegerDigits = digitsOption(options, 'minimumIntegerDigits', 1, 21, 1);
  if (options?.minimumSignificantDigits !== undefined || options?.maximumSignificantDigits !== undefined) {
    resolved.minimumSignificantDigits = digitsOption(options, 'minimumSignificantDigits', 1, 21, 1);
    resolved.maximumSignificantDigits = digitsOption(
      options, 'maximumSignificantDigits', resolved.minimumSignificantDigits, 21, 21,
    );
    return;
  }
  const minor = arrayIncludes(CURRENCIES_WHOLE, resolved.currency) ? 0 : 2;
  const [low, high] = { currency: [minor, minor], percent: [0, 0] }[resolved.style] ?? [0, 3];
  const wantedMin = digitsOption(options, 'minimumFractionDigits', 0, 100, undefined);
  const wantedMax = digitsOption(options, 'maximumFractionDigits', 0, 100, undefined);
  if (wantedMin !== undefined && wantedMax !== undefined && wantedMin > wantedMax) {
    throw new RangeError(`minimumFractionDigits ${wantedMin} is more than maximumFractionDigits ${wantedMax}`);
  }
  resolved.roundCompact = resolved.notation === 'compact' && wantedMin === undefined && wantedMax === undefined;
  resolved.minimumFractionDigits = resolved.roundCompact ? 0 : wantedMin ?? min(low, wantedMax ?? low);
  resolved.maximumFractionDigits = resolved.roundCompact ? 0 : wantedMax ?? max(high, resolved.minimumFractionDigits);
};

const readRounding = (resolved, options) => {
  resolved.roundingMode = option(options, 'roundingMode', keys(ROUNDING), 'halfExpand');
  resolved.trailingZeroDisplay = option(options, 'trailingZeroDisplay', ['auto', 'stripIfInteger'], 'auto');
  option(options, 'roundingIncrement', ['1'], '1');
  option(options, 'roundingPriority', ['auto'], 'auto');
  option(options, 'numberingSystem', ['latn'], 'latn');
};

/** Rounds as the options say; `rounding` is that of their mode for the number's sign. */
const roundFor = (decimal, options, rounding) => {
  const { maximumSignificantDigits: significant } = options;
  if (significant !== undefined) return roundDigits(decimal, significant, rounding);
  if (options.roundCompact) return roundDigits(decimal, max(2, decimal.whole), rounding);
  return roundDigits(decimal, decimal.whole + options.maximumFractionDigits, rounding);
};

/** The thousands a compact number leaves out, decided on the rounded number: 999,950 is 1M. */
const compactStep = (decimal, options, rounding) => {
  const stepOf = ({ whole }) => max(0, min(COMPACT.length - 1, floor((whole - 1) / 3)));
  const step = stepOf(decimal);
  const rounded = roundFor({ digits: decimal.digits, whole: decimal.whole - 3 * step }, options, rounding);
  return stepOf({ whole: rounded.whole + 3 * step });
};

const numberParts = (value, options) => {
  const negative = value < 0 || (value === 0 && 1 / value < 0);
  const parts = [];
  let zero = false;
  if (value !== value) arrayPush(parts, { type: 'nan', value: 'NaN' });
  else if (value === Infinity || value === -Infinity) arrayPush(parts, { type: 'infinity', value: '∞' });
  else zero = pushDigits(parts, value, options);
  return decorate(parts, signFor(negative, zero || value !== value, options.signDisplay), options);
};

/** Appends the digits and their separators; returns whether all digits are zero. */
const pushDigits = (parts, value, options) => {
  let decimal = decimalOf(value);
  if (options.style === 'percent' && decimal.digits !== '') decimal = { digits: decimal.digits, whole: decimal.whole + 2 };
  const rounding = ROUNDING[options.roundingMode][value < 0 ? 1 : 0];
  const step = options.notation === 'compact' ? compactStep(decimal, options, rounding) : 0;
  decimal = roundFor({ digits: decimal.digits, whole: decimal.whole - 3 * step }, options, rounding);
  const significant = options.minimumSignificantDigits;
  const fractionMin = significant === undefined ? options.minimumFractionDigits
    : max(0, significant - max(decimal.whole, decimal.digits === '' ? 1 : decimal.whole));
  const [whole, digits] = splitDecimal(decimal, fractionMin);
  const fraction = options.trailingZeroDisplay === 'stripIfInteger' && trimZeros(digits) === '' ? '' : digits;
  const padded = stringPadStart(whole, options.minimumIntegerDigits, '0');
  const least = options.useGrouping === 'min2' || options.notation === 'compact' ? 5 : 4;
  const groups = options.useGrouping && padded.length >= least ? groupThousands(padded) : [padded];
  for (let i = 0; i < groups.length; i++) {
    if (i > 0) arrayPush(parts, { type: 'group', value: ',' });
    arrayPush(parts, { type: 'integer', value: groups[i] });
  }
  if (fraction !== '') arrayPush(parts, { type: 'decimal', value: '.' }, { type: 'fraction', value: fraction });
  if (step > 0) {
    const label = COMPACT[step][options.compactDisplay === 'long' ? 1 : 0];
    arrayPush(parts, { type: 'compact', value: label });
  }
  return decimal.digits === '';
};

const signFor = (negative, zero, display) => {
  switch (display) {
    case 'never': return '';
    case 'always': return negative ? '-' : '+';
    case 'exceptZero': return zero ? '' : negative ? '-' : '+';
    case 'negative': return negative && !zero ? '-' : '';
    default: return negative ? '-' : '';
  }
};

/** Adds sign, currency, percent sign or unit. */
const decorate = (digits, sign, options) => {
  const signPart = sign === '' ? [] : [{ type: sign === '-' ? 'minusSign' : 'plusSign', value: sign }];
  switch (options.style) {
    case 'percent': return [...signPart, ...digits, { type: 'percentSign', value: '%' }];
    case 'currency': return withCurrency(digits, signPart, options);
    case 'unit': return [...signPart, ...digits, { type: 'unit', value: unitLabel(options, joinParts(digits)) }];
    default: return [...signPart, ...digits];
  }
};

const unitLabel = ({ unit, unitDisplay }, number) => {
  const label = UNIT_LABELS[unit][arrayIndexOf(UNIT_DISPLAYS, unitDisplay)];
  const spelled = unitDisplay === 'long' || (label === ' day' && unitDisplay === 'short');
  if (!spelled || number === '1' || unit === 'percent') return label;
  return stringStartsWith(label, ' degree') ? ` degrees${stringSlice(label, 7)}` : `${label}s`;
};

const withCurrency = (digits, signPart, options) => {
  const { currency, currencyDisplay } = options;
  if (currencyDisplay === 'name') {
    const name = CURRENCY_NAMES[currency][joinParts(digits) === '1' ? 0 : 1];
    return [...signPart, ...digits, { type: 'literal', value: ' ' }, { type: 'currency', value: name }];
  }
  const known = currencyDisplay === 'code' ? undefined : CURRENCY_SYMBOLS[currency];
  const symbol = known !== undefined && currencyDisplay === 'narrowSymbol' ? stringReplaceAll(known, /[A-Z]+(?=.$)/g, '') : known;
  // A code is set off with a no-break space, as everywhere in this locale.
  const mark = [{ type: 'currency', value: symbol ?? currency }];
  if (symbol === undefined) arrayPush(mark, { type: 'literal', value: '\u00a0' });
  if (options.currencySign === 'accounting' && signPart[0]?.value === '-') {
    return [{ type: 'literal', value: '(' }, ...mark, ...digits, { type: 'literal', value: ')' }];
  }
  return [...signPart, ...mark, ...digits];
};

const plainNumber = new NumberFormat();

addMethods(NumberFormat, { supportedLocalesOf });
addMethods(Intl, { NumberFormat: new Proxy(NumberFormat, { apply: (Type, _, args) => new Type(...args) }) });
const formatNumber = (value, locales, options) =>
  joinParts((locales === undefined && options === undefined ? plainNumber : new NumberFormat(locales, options)).formatToParts(value));
addMethods(Number.prototype, {
  toLocaleString(locales, options) { return formatNumber(numberValueOf(this), locales, options); },
});
addMethods(BigInt.prototype, {
  toLocaleString(locales, options) { return formatNumber(bigintValueOf(this), locales, options); },
});
