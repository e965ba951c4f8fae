# urllib.parse: parts, queries, quoting, joining.
import re
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, unquote, urlencode, urljoin, urlparse, urlsplit, urlunsplit

text = tools.slack.get_channel_history(channel="#general")["messages"][4]["text"]
url = re.search(r"https?://\S+", text)[0]
parts = urlsplit(url)
print(parts.netloc, parts.path, parse_qs(parts.query), parts.fragment)
print(urlunsplit(parts._replace(query=urlencode({"id": 8, "q": "a b&c", "tag": ["x", "y"]}, doseq=True), fragment="")))
print(quote("/a b/ü?", safe="/"), quote_plus("a b+c"), unquote("%E2%98%95%20x"), parse_qsl("a=1&b=&c", keep_blank_values=True))
for target in ("/wiki/faq?x=1", "../up", "//cdn.example/x", "#frag", "https://o.example/"):
    print(urljoin("https://wiki.example/a/b/c", target))
p = urlparse("postgres://user:p%40ss@db.example:5432/main")
print(p.username, unquote(p.password), p.hostname, p.port, p.path.lstrip("/"))
