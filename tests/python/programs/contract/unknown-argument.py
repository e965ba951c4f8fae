# An argument the tool does not have.
# message: any
print(tools.weather.get_forecast(city="Paris", day=3)["city"])
