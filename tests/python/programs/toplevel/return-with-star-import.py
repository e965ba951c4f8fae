# `import *` beside a top-level `return`.
from math import *
from mcp.servers.wiki import *

print(floor(pi), sqrt(16.0))
page = get_page(slug="faq")
return page["title"]
