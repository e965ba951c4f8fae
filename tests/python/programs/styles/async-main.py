# `async def main` and `asyncio.run(main())`.
import asyncio

async def main():
    forecast = await tools.weather.get_forecast(city="Tokyo", days=2)
    for day in forecast["days"]:
        print(day["date"], day["high"], day["conditions"])

asyncio.run(main())
