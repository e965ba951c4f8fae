# Proxies and modules without await.
from mcp.servers.crm import list_deals

deals = list_deals(stage="lost")
print(len(deals["deals"]), mcp_weather.get_current(city="Oslo")["content"][0]["text"])
total = sum(d["amount"] for d in deals["deals"])
print(f"{total:,.2f}")
