# A queueing simulation with a seeded generator and a heap.
import heapq
import random
from statistics import mean

def simulate(servers, arrivals, seed):
    rng = random.Random(seed)
    free, waits, now = [0.0] * servers, [], 0.0
    heapq.heapify(free)
    for _ in range(arrivals):
        now += rng.expovariate(1 / 2.0)
        start = max(now, heapq.heappop(free))
        waits.append(start - now)
        heapq.heappush(free, start + rng.uniform(1, 5))
    return round(mean(waits), 3), round(max(waits), 3)

agents = len([u for u in __import__("json").loads(tools.slack.list_users())["members"] if not u["is_bot"]])
{n: simulate(n, 500, seed=n) for n in range(1, agents + 1)}
