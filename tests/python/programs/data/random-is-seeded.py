# A seeded generator gives the same numbers everywhere.
import random

rng = random.Random(42)
print([rng.randint(1, 100) for _ in range(5)], round(rng.random(), 6), rng.choice("abc"))
random.seed(7)
items = list(range(8)); random.shuffle(items)
print(items, random.sample(range(100), 3), round(random.gauss(0, 1), 6), random.choices([1, 2], weights=[9, 1], k=4))
contacts = tools.crm.list_contacts(limit=11)["contacts"]
winner = random.Random("raffle").choice(sorted(c["name"] for c in contacts))
print(winner, 0 <= random.SystemRandom().random() < 1)
