# attack: texts that grow with every normalisation, case change, escape and encoding
# property: S23
# timeout_ms: 2000
# expect: error memory_limit|timeout
import codecs
import html
import unicodedata
import urllib.parse

text = "\ufdfa\u0390\ufb03" * 1_000
while True:
    text = unicodedata.normalize("NFKD", text).upper()
    text = html.escape(urllib.parse.quote(text, safe=""))
    text = codecs.encode(text.encode("unicode_escape"), "hex").decode()
    text = "\ufdfa".join(text)
