# A table of HTML to records, entities resolved.
import html
import re

source = tools.wiki.get_page(slug="faq")["html"]
rows = [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in re.findall(r"<tr>(.*?)</tr>", source)]
header, *body = rows
print([dict(zip(header, row)) for row in body])
print(html.escape("<a href=\"x\">'&'</a>"), html.unescape("&lt;&#233;&#x1F389;&nbsp;&copy;") == "<é🎉\xa0©")
