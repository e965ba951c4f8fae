def run():
    counts = {}
    for i in range(500_000):
        key = f"k{i * 7919 % 20_011}"
        counts[key] = counts.get(key, 0) + i
    groups = {}
    for key, count in counts.items():
        groups.setdefault(count % 97, []).append(key)
    best = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:3]
    return [len(counts), [[group, len(keys)] for group, keys in best]]


result = run()
