# A forgotten `await` in a program that awaits elsewhere does no harm.
forecast = tools.weather.get_forecast(city="Paris", days=1)
current = await tools.weather.get_current(city="Paris")
print(current)
print(forecast["days"][0]["high"], len(forecast["days"]))
highs = [day["high"] for day in forecast["days"]]
highs
