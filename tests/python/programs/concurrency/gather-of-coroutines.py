# The usual shape: an async function per item, gathered in `main`.
import asyncio

async def describe_city(city: str) -> dict:
    forecast, current = await asyncio.gather(
        tools.weather.get_forecast(city=city, days=2),
        tools.weather.get_current(city=city),
    )
    return {"city": city, "high": max(d["high"] for d in forecast["days"]), "now": current.split(",")[0]}

async def main():
    cities = ["Paris", "Tokyo", "Oslo", "São Paulo"]
    rows = await asyncio.gather(*map(describe_city, cities))
    for row in rows:
        print(f"{row['city']:<10} {row['high']:>6.1f}  {row['now']}")
    return max(rows, key=lambda r: r["high"])["city"]

await main()
