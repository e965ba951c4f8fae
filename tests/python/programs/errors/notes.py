# Notes added on the way out.
def parse(line, number):
    try:
        return float(line)
    except ValueError as error:
        error.add_note(f"in line {number}")
        raise

try:
    for number, line in enumerate(["1.5", "2", "x7"], 1):
        parse(line, number)
except ValueError as error:
    print(error, error.__notes__)
