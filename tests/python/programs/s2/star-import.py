# Functions of a server, imported all at once.
from mcp.servers.wiki import *
from mcp.servers.time_series import query_range

pages = await list_pages()
page = await get_page(slug=pages["pages"][0])
points = await query_range(metric="latency", minutes=3)
print(page["title"], len(points["points"]))
