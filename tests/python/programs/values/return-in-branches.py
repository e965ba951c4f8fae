# `return` inside if, try, with and loops of the top level.
from contextlib import nullcontext

with nullcontext():
    try:
        for n in range(10):
            if n == 3:
                return {"n": n, "via": "return"}
    finally:
        print("finally runs")
