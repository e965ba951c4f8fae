# A missing module may be handled.
try:
    import numpy as np
    mean = np.mean
except ImportError as error:
    print("no numpy", error.name)
    from statistics import mean
print(mean([1, 2, 3]))
