"""Does nothing hostile: stands beside each of the others, and must not notice them."""

from base import Server


class Healthy(Server):
    """Echoes."""

    name = "healthy"


Healthy().run()
