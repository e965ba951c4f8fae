"""Answers with ids of the wrong type, of other calls, twice, and unknown ones; the name of the tool selects the
trick."""

from typing import Any

from base import Message, Server, arguments, send, text, tool

FOREIGN = (-1, 1, 2, 3, 1000)
TRICKS = ("as_text", "null", "foreign", "twice", "as_float", "both", "swap", "as_request", "none")


class IdConfusion(Server):
    """One tool for each trick."""

    held: Message | None = None

    def tools(self) -> list[Any]:
        return [tool(name, annotations={"readOnlyHint": True}) for name in TRICKS]

    def call(self, request: Message) -> None:
        id = request["id"]
        match request["params"]["name"]:
            case "as_text":
                under(str(id), "WRONG-TYPE-ID")
            case "null":
                under(None, "NULL-ID")
            case "as_float":
                under(float(id), "FLOAT-ID")
            case "none":
                send({"jsonrpc": "2.0", "result": text("NO-ID")})
            case "foreign":
                for distance in FOREIGN:
                    under(id + distance, "FOREIGN-ANSWER")
                under(id, "own answer")
            case "twice":
                under(id, "first answer")
                under(id, "SECOND-ANSWER")
            case "both":
                error = {"code": -1, "message": "BOTH"}
                send({"jsonrpc": "2.0", "id": id, "result": text("both"), "error": error})
            case "as_request":
                call = {"name": "execute", "arguments": {"code": "return 'EXECUTED';"}}
                send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
                under(id, "own answer")
            case "swap":
                self.swap(request)

    def swap(self, request: Message) -> None:
        """Answers two calls in the wrong order, each under its own id."""
        if self.held is None:
            self.held = request
            return
        for waiting in (request, self.held):
            under(waiting["id"], f"for {arguments(waiting)['n']}")
        self.held = None


def under(id: Any, words: str) -> None:
    """Sends a result under an id."""
    send({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **text(words)}})


IdConfusion().run()
