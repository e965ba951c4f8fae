# Enum, StrEnum, IntFlag, auto and lookups by value.
from enum import Enum, IntEnum, IntFlag, StrEnum, auto, unique

@unique
class Priority(IntEnum):
    LOW = 1
    NORMAL = 2
    HIGH = 3
    URGENT = 4

class Status(StrEnum):
    OPEN = auto()
    PENDING = auto()
    SOLVED = auto()

class Access(IntFlag):
    READ = 4
    WRITE = 2
    RUN = 1

class Planet(Enum):
    EARTH = (5.97e24, 6.37e6)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius

    @property
    def gravity(self):
        return 6.674e-11 * self.mass / self.radius ** 2

ticket = tools.tickets.get_ticket(id=3)
status, priority = Status(ticket["status"]), Priority[ticket["priority"].upper()]
print(status, repr(status), status == "open", priority, repr(priority), priority > Priority.LOW)
print([s.value for s in Status], list(Priority)[-1].name)
print(Access.READ | Access.RUN, Access(6), Access.WRITE in Access(6))
print(f"{Planet.EARTH.gravity:.2f}", Planet.EARTH.name)
try:
    Status("closed")
except ValueError as e:
    print(e)
