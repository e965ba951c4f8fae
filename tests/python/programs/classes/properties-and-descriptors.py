# Properties, a validating descriptor, `__set_name__` and `cached_property`.
from functools import cached_property

class Between:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name[1:]} must be between {self.low} and {self.high}")
        setattr(instance, self.name, value)

class Station:
    humidity = Between(0, 100)
    loads = 0

    def __init__(self, city, humidity):
        self.city = city
        self.humidity = humidity

    @cached_property
    def forecast(self):
        type(self).loads += 1
        return tools.weather.get_forecast(city=self.city, days=2)

    @property
    def fahrenheit(self):
        return self._f if hasattr(self, "_f") else self.forecast["days"][0]["high"] * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self._f = float(value)

    @fahrenheit.deleter
    def fahrenheit(self):
        del self._f

s = Station("Oslo", 65)
print(s.forecast["timezone"], s.forecast["days"][1]["low"], Station.loads)
print(round(s.fahrenheit, 2)); s.fahrenheit = 50; print(s.fahrenheit); del s.fahrenheit; print(round(s.fahrenheit, 2))
try:
    Station("Oslo", 120)
except ValueError as e:
    print(e)
