# Statistics of a time series with gaps.
import statistics

points = tools.time_series.query_range(metric="latency", minutes=40)["points"]
values = [v for _, v in points if v is not None]
print(len(points) - len(values), "missing")
print(f"mean {statistics.mean(values):.3f} median {statistics.median(values)} stdev {statistics.stdev(values):.3f} pvariance {statistics.pvariance(values):.3f}")
print([round(q, 2) for q in statistics.quantiles(values, n=4)], statistics.mode([1, 2, 2, 3]), statistics.multimode("aabbc"))
print(round(statistics.fmean(values, weights=range(1, len(values) + 1)), 3), round(statistics.harmonic_mean([40, 60]), 3), statistics.median_grouped([1, 2, 2, 3]))
slope, intercept = statistics.linear_regression([1, 2, 3, 4], [2.1, 3.9, 6.2, 7.8])
print(round(slope, 4), round(intercept, 4), round(statistics.correlation([1, 2, 3], [2, 4, 7]), 4), statistics.NormalDist(0, 1).cdf(0))
