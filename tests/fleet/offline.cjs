// Loaded into every Node server of the fleet: names resolve to nothing, so that placeholder credentials go nowhere.
const dns = require("node:dns");

const LOOPBACK = new Set(["localhost", "127.0.0.1"]);
const { lookup } = dns;

dns.lookup = (name, options, callback = options) => {
  if (LOOPBACK.has(name)) return lookup(name, options, callback);
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND", hostname: name });
  process.nextTick(callback, error);
};
