"""The fake servers every program of the corpus may call, the same for both interpreters.

All data is fixed. Two tools keep state: `flaky.fetch` counts attempts for each key, and `filesystem` remembers
what was written; programs use keys and paths of their own there.
"""

from servers import business, database, filesystem, github, misc, slack
from toolkit import SECONDS, Json, Result, Server, Tool, failed

MAKERS = {
    "github": github.make,
    "slack": slack.make,
    "database": database.make,
    "filesystem": filesystem.make,
    "calendar": business.calendar,
    "crm": business.crm,
    "tickets": business.tickets,
    "shop": business.shop,
    "weather": misc.weather,
    "wiki": misc.wiki,
    "time-series": misc.time_series,
    "flaky": misc.flaky,
    "shapes": misc.shapes,
    "legacy-api": misc.legacy_api,
}


class World:
    """Servers with state of their own."""

    def __init__(self) -> None:
        self._made: dict[str, Server] = {}

    def names(self) -> list[str]:
        """The servers, in the order of a configuration file."""
        return list(MAKERS)

    def server(self, name: str) -> Server:
        """A server, made when it is first asked for."""
        if name not in self._made:
            self._made[name] = MAKERS[name]()
        return self._made[name]


def call(tool: Tool, arguments: dict[str, Json]) -> tuple[float, Result]:
    """What a call of a tool takes, in seconds, and gives."""
    try:
        result = tool.handler(arguments)
    except (LookupError, TypeError, ValueError) as error:
        result = failed(f"{type(error).__name__}: {error}")
    return result.get(SECONDS, 0.0), {key: value for key, value in result.items() if key != SECONDS}
