// value: {"href":"https://user:secret@example.com:8080/a/c?x=1&y=%C3%A9+b#top","host":"example.com:8080","port":"8080","path":"/a/c","hash":"#top","x":"1","all":[["x","1"],["y","é b"]],"relative":"http://host/b?c","changed":"https://example.com/new%20path?z=1","json":"\"http://host/\"","bad":["TypeError","Invalid URL: nope"],"can":[true,false]}
const url = new URL("https://user:secret@example.com:8080/a/b/../c?x=1#top");
url.searchParams.append("y", "é b");
const changed = new URL("https://example.com:8080/old?a=1#b");
changed.port = "";
changed.pathname = "/new path";
changed.hash = "";
changed.search = "?z=1";
let bad;
try {
  new URL("nope");
} catch (error) {
  bad = [error.name, error.message];
}
return {
  href: url.href, host: url.host, port: url.port, path: url.pathname, hash: url.hash, x: url.searchParams.get("x"),
  all: [...url.searchParams], relative: new URL("../b?c", "http://host/a/d").href, changed: changed.href,
  json: JSON.stringify(new URL("http://host")), bad, can: [URL.canParse("a:b"), URL.canParse("b")],
};
