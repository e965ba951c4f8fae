# A program that formats its own traceback.
import traceback

def inner(n):
    return 10 / n

def outer():
    return inner(0)

try:
    outer()
except ZeroDivisionError as error:
    frames = traceback.extract_tb(error.__traceback__)
    print([(f.name, f.lineno, f.line) for f in frames[-2:]])
    print(traceback.format_exception_only(error)[-1].strip())
