# `mcp_servers` by name, also with a hyphen, and the loaded names.
import asyncio

metrics = await mcp_servers["time-series"].list_metrics()
print(metrics["metrics"], "time-series" in LOADED_MCP_SERVERS)
ranges = await asyncio.gather(*[mcp_time_series.query_range(metric=m, minutes=2) for m in metrics["metrics"][:2]])
print([r["unit"] for r in ranges])
