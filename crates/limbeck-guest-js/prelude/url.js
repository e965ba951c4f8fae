// `URL` and `URLSearchParams` of the WHATWG standard; parsing and serialising by the `url` crate.

/** Indexes into what the native side returns. */
const PART = {
  href: 0, origin: 1, protocol: 2, username: 3, password: 4, host: 5, hostname: 6, port: 7, pathname: 8, search: 9,
  hash: 10,
};

let updateSearch;

class URLSearchParams {
  #pairs = [];
  #url = null;

  constructor(init = '') {
    if (isObject(init)) this.#pairs = pairsOf(init);
    else this.#parse(`${init}`);
  }

  #parse(text) {
    const query = stringStartsWith(text, '?') ? stringSlice(text, 1) : text;
    const flat = native.parseQuery(wellFormed(query));
    this.#pairs = [];
    for (let i = 0; i < flat.length; i += 2) arrayPush(this.#pairs, [flat[i], flat[i + 1]]);
  }

  /** Parameters that write themselves back into the URL they came from. */
  static bind(params, url) { params.#url = url; }
  static read(params, text) { params.#parse(text); }

  #changed() { if (this.#url !== null) updateSearch(this.#url, this.toString()); }

  append(name, value) {
    arrayPush(this.#pairs, [usv(name), usv(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#pairs = arrayFilter(this.#pairs, (pair) => pair[0] !== `${name}` || (value !== undefined && pair[1] !== `${value}`));
    this.#changed();
  }

  get(name) {
    for (let i = 0; i < this.#pairs.length; i++) if (this.#pairs[i][0] === `${name}`) return this.#pairs[i][1];
    return null;
  }

  getAll(name) {
    return arrayMap(arrayFilter(this.#pairs, (pair) => pair[0] === `${name}`), (pair) => pair[1]);
  }

  has(name, value) {
    for (let i = 0; i < this.#pairs.length; i++) {
      const pair = this.#pairs[i];
      if (pair[0] === `${name}` && (value === undefined || pair[1] === `${value}`)) return true;
    }
    return false;
  }

  set(name, value) {
    const key = usv(name);
    let placed = false;
    this.#pairs = arrayFilter(this.#pairs, (pair) => {
      if (pair[0] !== key) return true;
      if (placed) return false;
      placed = true;
      pair[1] = usv(value);
      return true;
    });
    if (!placed) arrayPush(this.#pairs, [key, usv(value)]);
    this.#changed();
  }

  sort() {
    arraySort(this.#pairs, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#changed();
  }

  forEach(callback, self) {
    for (let i = 0; i < this.#pairs.length; i++) {
      apply(callback, self, [this.#pairs[i][1], this.#pairs[i][0], this]);
    }
  }

  * entries() { for (let i = 0; i < this.#pairs.length; i++) yield [this.#pairs[i][0], this.#pairs[i][1]]; }
  * keys() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][0]; }
  * values() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][1]; }
  get size() { return this.#pairs.length; }

  toString() {
    const flat = [];
    for (let i = 0; i < this.#pairs.length; i++) arrayPush(flat, this.#pairs[i][0], this.#pairs[i][1]);
    return native.formatQuery(flat);
  }
}
addMethods(URLSearchParams.prototype, {
  [Symbol.iterator]: URLSearchParams.prototype.entries,
});
defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { value: 'URLSearchParams', configurable: true });
const { bind: bindParams, read: readParams } = URLSearchParams;
delete URLSearchParams.bind;
delete URLSearchParams.read;

const usv = (value) => wellFormed(`${value}`);

/** Pairs from another instance, from anything that yields pairs, or from an object's properties. */
const pairsOf = (init) => {
  const pairs = [];
  if (typeof init[Symbol.iterator] === 'function') {
    for (const pair of init) {
      const [name, value, ...more] = pair;
      if (value === undefined || more.length > 0) throw typeError('URLSearchParams takes pairs of a name and a value');
      arrayPush(pairs, [usv(name), usv(value)]);
    }
  } else {
    const names = keys(init);
    for (let i = 0; i < names.length; i++) arrayPush(pairs, [usv(names[i]), usv(init[names[i]])]);
  }
  return pairs;
};

const invalidUrl = (text) => {
  const error = typeError(`Invalid URL: ${bounded(text)}`);
  return define(error, 'code', 'ERR_INVALID_URL', true);
};

const parseUrl = (url, base) => native.parseUrl(usv(url), base === undefined ? undefined : usv(base));

class URL {
  #parts;
  #params = null;

  constructor(url, base) {
    const parts = parseUrl(url, base);
    if (!isArray(parts)) throw invalidUrl(`${url}`);
    this.#parts = parts;
  }

  static canParse(url, base) { return isArray(parseUrl(url, base)); }
  static parse(url, base) { return URL.canParse(url, base) ? new URL(url, base) : null; }
  static part(url, index) { return url.#parts[index]; }

  static change(url, part, value) {
    const parts = native.changeUrl(url.#parts[PART.href], part, usv(value));
    if (!isArray(parts)) throw invalidUrl(`${value}`);
    url.#parts = parts;
    if (url.#params !== null) readParams(url.#params, parts[PART.search]);
  }

  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams(this.#parts[PART.search]);
      bindParams(this.#params, this);
    }
    return this.#params;
  }

  static writeQuery(url, query) {
    url.#parts = native.changeUrl(url.#parts[PART.href], 'search', query);
  }

  toString() { return this.#parts[PART.href]; }
  toJSON() { return this.#parts[PART.href]; }
}
const { part: urlPart, change: changeUrl } = URL;
updateSearch = URL.writeQuery;
for (const name of ['part', 'change', 'writeQuery']) delete URL[name];
for (const name of keys(PART)) {
  defineProperty(URL.prototype, name, {
    get() { return urlPart(this, PART[name]); },
    set: name === 'origin' ? undefined : function set(value) { changeUrl(this, name, value); },
    enumerable: true,
    configurable: true,
  });
}
defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });

addGlobals({ URL, URLSearchParams });
