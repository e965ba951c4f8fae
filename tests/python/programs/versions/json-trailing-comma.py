# Where the JSON parser points for a trailing comma: CPython 3.13 names the comma, older ones what follows it.
# changed: 3.13
import json

try:
    json.loads("[1,]")
except json.JSONDecodeError as error:
    print(error.pos)
