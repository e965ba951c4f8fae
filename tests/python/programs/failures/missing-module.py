# A module nobody installed.
# message: any
import json
import pandas as pd

print(pd.DataFrame([{"a": 1}]))
