"""A healthy server that runs beside each hostile one and must not be affected."""

from base import Server


class Healthy(Server):
    """Echoes."""

    name = "healthy"


Healthy().run()
