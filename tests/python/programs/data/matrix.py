# Transposing, slicing and matrix arithmetic with lists.
import math

matrix = [[1, 2, 3], [4, 5, 6]]
print(list(zip(*matrix)), [sum(row) for row in matrix], [sum(column) for column in zip(*matrix)])
print([[sum(a * b for a, b in zip(row, column)) for column in zip(*[[1, 0], [0, 1], [2, 2]])] for row in matrix])
cities = {name: tools.weather.get_forecast(city=name) for name in ("Paris", "Tokyo", "Nairobi")}

def kilometres(a, b):
    p, q = math.radians(a["latitude"]), math.radians(b["latitude"])
    h = math.sin((q - p) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin(math.radians(b["longitude"] - a["longitude"]) / 2) ** 2
    return 2 * 6371 * math.asin(math.sqrt(h))

print({f"{a}-{b}": round(kilometres(cities[a], cities[b])) for a in cities for b in cities if a < b})
print(math.prod([1, 2, 3]), math.comb(5, 2), math.isclose(0.1 + 0.2, 0.3), math.gcd(12, 18, 27), math.dist([0, 0], [3, 4]), math.fsum([0.1] * 10))
