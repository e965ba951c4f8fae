// `Intl.DateTimeFormat` and `toLocale…String` of dates, in UTC.

const MONTHS = [
  'January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November',
  'December',
];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const TEXT_WIDTHS = ['long', 'short', 'narrow'];
const NUMBER_WIDTHS = ['numeric', '2-digit'];
const STYLES = ['full', 'long', 'medium', 'short'];
const UTC_NAMES = ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT', '+00:00', 'Z', 'utc'];

const DATE_STYLES = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const TIME_STYLES = {
  full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' },
  long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
  medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
  short: { hour: 'numeric', minute: '2-digit' },
};

const DATE_DEFAULTS = { year: 'numeric', month: 'numeric', day: 'numeric' };
const TIME_DEFAULTS = { hour: 'numeric', minute: '2-digit', second: '2-digit' };

const FIELDS = {
  weekday: TEXT_WIDTHS,
  year: NUMBER_WIDTHS,
  month: [...NUMBER_WIDTHS, ...TEXT_WIDTHS],
  day: NUMBER_WIDTHS,
  hour: NUMBER_WIDTHS,
  minute: NUMBER_WIDTHS,
  second: NUMBER_WIDTHS,
  fractionalSecondDigits: ['1', '2', '3'],
  timeZoneName: ['short', 'long'],
};
const DATE_FIELDS = ['weekday', 'year', 'month', 'day'];
const TIME_FIELDS = ['hour', 'minute', 'second', 'fractionalSecondDigits'];

const hasAny = (fields, names) => {
  for (let i = 0; i < names.length; i++) if (fields[names[i]] !== undefined) return true;
  return false;
};

/** `needs` is what must be shown when the options name nothing: `date`, `time` or `any`. */
const readFields = (options, needs) => {
  const fields = {};
  for (const name of keys(FIELDS)) fields[name] = option(options, name, FIELDS[name], undefined);
  refuse(options, 'era');
  refuse(options, 'dayPeriod');
  const dateStyle = option(options, 'dateStyle', STYLES, undefined);
  const timeStyle = option(options, 'timeStyle', STYLES, undefined);
  if (dateStyle === undefined && timeStyle === undefined) return withDefaults(fields, needs);
  if (hasAny(fields, keys(FIELDS))) throw typeError('dateStyle and timeStyle cannot be joined with other fields');
  assign(fields, dateStyle && DATE_STYLES[dateStyle], timeStyle && TIME_STYLES[timeStyle]);
  return assign(fields, { dateStyle, timeStyle });
};

const withDefaults = (fields, needs) => {
  const named = (needs !== 'time' && hasAny(fields, DATE_FIELDS)) || (needs !== 'date' && hasAny(fields, TIME_FIELDS));
  if (named) return fields;
  if (needs === 'date' || needs === 'all' || needs === 'any') assign(fields, DATE_DEFAULTS);
  if (needs === 'time' || needs === 'all') assign(fields, TIME_DEFAULTS);
  return fields;
};

const part = (type, value) => ({ type, value });
const literal = (value) => part('literal', value);
const twoDigits = (value) => stringPadStart(`${value}`, 2, '0');
const numberField = (value, width) => (width === '2-digit' ? twoDigits(value % 100) : `${value}`);
const textField = (name, width) => stringSlice(name, 0, { long: 20, short: 3, narrow: 1 }[width]);

/** Puts `separator` between parts that exist. */
const between = (groups, separator) => {
  const parts = [];
  for (let i = 0; i < groups.length; i++) {
    if (groups[i].length === 0) continue;
    if (parts.length > 0) arrayPush(parts, literal(separator));
    arrayPush(parts, ...groups[i]);
  }
  return parts;
};

const datePart = (date, fields) => {
  const one = (name, value) => (fields[name] === undefined ? [] : [part(name, value)]);
  const weekday = one('weekday', textField(WEEKDAYS[date.getUTCDay()], fields.weekday));
  const year = one('year', numberField(date.getUTCFullYear(), fields.year));
  const day = one('day', numberField(date.getUTCDate(), fields.day));
  if (!arrayIncludes(TEXT_WIDTHS, fields.month)) {
    const month = one('month', numberField(date.getUTCMonth() + 1, fields.month));
    // Without a month the day comes first: 14 Tuesday.
    if (month.length === 0 && year.length === 0) return between([day, weekday], ' ');
    return between([weekday, between([month, day, year], '/')], ', ');
  }
  const month = one('month', textField(MONTHS[date.getUTCMonth()], fields.month));
  const monthDay = between([month, day], ' ');
  return between([weekday, between([monthDay, year], day.length > 0 ? ', ' : ' ')], ', ');
};

const timePart = (date, fields, hour12) => {
  const hours = date.getUTCHours();
  const shown = hour12 ? (hours % 12 === 0 ? 12 : hours % 12) : hours;
  const clock = [];
  if (fields.hour !== undefined) {
    const padded = fields.hour === '2-digit' || !hour12;
    arrayPush(clock, [part('hour', padded ? twoDigits(shown) : `${shown}`)]);
  }
  const alone = fields.hour === undefined && fields.second === undefined;
  if (fields.minute !== undefined) {
    arrayPush(clock, [part('minute', alone ? `${date.getUTCMinutes()}` : twoDigits(date.getUTCMinutes()))]);
  }
  if (fields.second !== undefined) {
    const seconds = date.getUTCSeconds();
    arrayPush(clock, [part('second', clock.length === 0 ? `${seconds}` : twoDigits(seconds))]);
  }
  let parts = between(clock, ':');
  if (fields.fractionalSecondDigits !== undefined) {
    const text = stringSlice(stringPadStart(`${date.getUTCMilliseconds()}`, 3, '0'), 0, +fields.fractionalSecondDigits);
    parts = between([parts, [part('fractionalSecond', text)]], '.');
  }
  const period = hour12 && fields.hour !== undefined ? [part('dayPeriod', hours < 12 ? 'AM' : 'PM')] : [];
  return between([parts, period], ' ');
};

/** A spelled-out date is joined to its time with a word, a weekday alone with nothing. */
const joinerOf = (fields) => {
  if (fields.month === 'long') return ' at ';
  return hasAny(fields, ['year', 'month', 'day']) ? ', ' : ' ';
};

const checkTimeZone = (name) => {
  if (name !== undefined && !arrayIncludes(UTC_NAMES, `${name}`)) {
    throw new RangeError(`time zone "${name}" is not available here, only "UTC"; a Python program has \`zoneinfo\`, and a tool of a server may know the time there`);
  }
};

class DateTimeFormat {
  #fields;
  #hour12;

  constructor(locales, options, needs = 'any') {
    checkLocales(locales);
    checkTimeZone(options?.timeZone);
    const calendar = options?.calendar;
    if (calendar !== undefined && calendar !== 'gregory') throw new RangeError(`calendar "${calendar}" is not available here`);
    this.#fields = readFields(options, needs);
    const cycle = option(options, 'hourCycle', ['h12', 'h23'], 'h12');
    this.#hour12 = option(options, 'hour12', [true, false], cycle === 'h12');
    define(this, 'format', (value) => joinParts(this.formatToParts(value)));
  }

  formatToParts(value) {
    const date = new Date(value === undefined ? nowMs() : isDate(value) ? dateGetTime(value) : +value);
    if (dateGetTime(date) !== dateGetTime(date)) throw new RangeError('Invalid time value');
    const fields = this.#fields;
    const zone = fields.timeZoneName === undefined ? []
      : [part('timeZoneName', fields.timeZoneName === 'long' ? 'Coordinated Universal Time' : 'UTC')];
    const time = timePart(date, fields, this.#hour12);
    const day = datePart(date, fields);
    if (time.length === 0) return between([day, zone], ', ');
    return between([day, between([time, zone], ' ')], joinerOf(fields));
  }

  formatRange(from, to) { return `${this.format(from)} – ${this.format(to)}`; }

  resolvedOptions() {
    return { locale: LOCALE, calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC', ...this.#fields };
  }
}

addMethods(DateTimeFormat, { supportedLocalesOf });
addMethods(Intl, {
  DateTimeFormat: new Proxy(DateTimeFormat, {
    apply: (Type, _, args) => new Type(args[0], args[1]),
    construct: (Type, args) => new Type(args[0], args[1]),
  }),
});

const formatDate = (date, locales, options, needs) =>
  (passes(dateGetTime, date) && dateGetTime(date) !== dateGetTime(date)
    ? 'Invalid Date'
    : new DateTimeFormat(locales, options, needs).format(date));
addMethods(Date.prototype, {
  toLocaleString(locales, options) { return formatDate(this, locales, options, 'all'); },
  toLocaleDateString(locales, options) { return formatDate(this, locales, options, 'date'); },
  toLocaleTimeString(locales, options) { return formatDate(this, locales, options, 'time'); },
});
