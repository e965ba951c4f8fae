# Dotted names and literals as patterns.
from enum import Enum
from http import HTTPStatus

class Level(Enum):
    RED = "red"
    ORANGE = "orange"

import json
alerts = json.loads(tools.weather.get_alerts(city="Oslo"))
for alert in alerts:
    match Level(alert["level"]):
        case Level.RED: print("stay home")
        case Level.ORANGE: print("be careful:", alert["event"])

def about(code):
    match code:
        case HTTPStatus.OK | 201: return "fine"
        case 404: return HTTPStatus(code).phrase
        case -1: return "minus one"
        case 1 + 2j: return "complex"
        case "x" "y": return "joined"
        case x if 500 <= x < 600: return "server"

print([about(c) for c in (200, 201, 404, -1, 1 + 2j, "xy", 503)])
