# Keys that are no text, in a value with others that JSON lacks.
from datetime import date

{date(2026, 3, 1): 1, (1, 2): "tuple", 1.0: "whole", 0: "zero", 2.5: "half", None: "none", True if False else "t": {3}}
