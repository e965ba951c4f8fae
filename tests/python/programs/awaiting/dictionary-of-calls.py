# Calls kept in a dictionary and awaited by key.
import asyncio

calls = {city: tools.weather.get_forecast(city=city, days=1) for city in ("Paris", "Tokyo")}
calls["Oslo"] = tools.weather.get_forecast(city="Oslo", days=1)
results = {}
for city, call in calls.items():
    results[city] = (await call)["days"][0]["high"]
print(results)
values = await asyncio.gather(*[tools.weather.get_current(city=c) for c in results])
[v.split(":")[0] for v in values]
