"""A chat: channels behind a cursor, history with emoji, messages that are only acknowledged."""

from typing import Any

from toolkit import OBJECT, Result, Server, failed, json_text, structured

CHANNELS = ["general", "engineering", "random", "incidents", "releases", "sales", "support"]
USERS = [
    {"id": "U1", "name": "ada", "real_name": "Ada Lovelace", "tz": "Europe/London", "is_bot": False},
    {"id": "U2", "name": "grace", "real_name": "Grace Hopper", "tz": "America/New_York", "is_bot": False},
    {"id": "U3", "name": "linus", "real_name": "Linus Pauling", "tz": "America/Los_Angeles", "is_bot": False},
    {"id": "U4", "name": "deploybot", "real_name": "Deploy Bot", "tz": "UTC", "is_bot": True},
    {"id": "U5", "name": "zoë", "real_name": "Zoë Müller", "tz": "Europe/Berlin", "is_bot": False},
]
TEXTS = [
    "Deploy of api v2.3.1 finished ✅",
    "<@U2> can you look at INC-104?",
    "lunch? 🍕🍕",
    "INC-104: p99 latency 2300ms, error rate 4.5%",
    "Thanks! see https://wiki.example/runbook?id=7&tab=2#steps",
    "Rollback of api v2.3.1 started by <@U3>",
    "INC-104 resolved after 42m",
    "日本語のメッセージ",
]


def make() -> Server:
    """The server."""
    server = Server("slack", "Channels, people and messages of a team chat")

    @server.tool(
        "list_channels",
        "List channels; pass `next_cursor` back to get the next ones",
        output=OBJECT,
        cursor="string?",
        limit="integer?",
    )
    def list_channels(args: dict[str, Any]) -> Result:
        start, limit = int(args.get("cursor") or 0), args.get("limit", 3)
        shown = [{"id": f"C{at}", "name": name, "members": 5 + at * 11} for at, name in enumerate(CHANNELS)][
            start : start + limit
        ]
        more = start + limit < len(CHANNELS)
        return structured({"channels": shown, "next_cursor": str(start + limit) if more else ""})

    @server.tool(
        "get_channel_history", "Messages of a channel, oldest first", output=OBJECT, channel="string", limit="integer?"
    )
    def get_channel_history(args: dict[str, Any]) -> Result:
        if args["channel"].lstrip("#") not in CHANNELS and not args["channel"].startswith("C"):
            return failed(f"channel_not_found: {args['channel']}")
        messages = [
            {
                "ts": f"17700{at:05}.000100",
                "user": USERS[at % 5]["id"],
                "text": words,
                "reactions": [{"name": "+1", "count": at}] if at % 2 else [],
            }
            for at, words in enumerate(TEXTS)
        ]
        return structured({"messages": messages[: args.get("limit", 100)]})

    @server.tool("list_users", "List people and bots")
    def list_users(args: dict[str, Any]) -> Result:
        return json_text({"ok": True, "members": USERS})

    @server.tool(
        "post_message",
        "Post a message to a channel",
        output=OBJECT,
        read=False,
        channel="string",
        text="string",
        thread_ts="string?",
    )
    def post_message(args: dict[str, Any]) -> Result:
        if args["channel"] == "#readonly":
            return failed("not_in_channel")
        return structured(
            {
                "ok": True,
                "channel": args["channel"],
                "ts": f"1770100000.{len(args['text']):06}",
                "length": len(args["text"]),
            }
        )

    return server
