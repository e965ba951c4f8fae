"""A calendar, a CRM behind cursors, a ticket system that answers in JSON text, and a shop with money in texts."""

from typing import Any

from toolkit import OBJECT, Result, Server, failed, json_text, structured, text

EVENTS: list[dict[str, Any]] = [
    {
        "id": "e1",
        "title": "Standup",
        "start": "2026-03-02T09:00:00+01:00",
        "end": "2026-03-02T09:15:00+01:00",
        "attendees": ["ada", "grace", "linus"],
    },
    {
        "id": "e2",
        "title": "Design review",
        "start": "2026-03-02T10:00:00+01:00",
        "end": "2026-03-02T11:30:00+01:00",
        "attendees": ["ada", "margaret"],
    },
    {
        "id": "e3",
        "title": "Customer call",
        "start": "2026-03-02T11:00:00-05:00",
        "end": "2026-03-02T12:00:00-05:00",
        "attendees": ["grace"],
        "location": "Zoom",
    },
    {
        "id": "e4",
        "title": "1:1",
        "start": "2026-03-03T16:30:00Z",
        "end": "2026-03-03T17:00:00Z",
        "attendees": ["ada", "linus"],
    },
    {
        "id": "e5",
        "title": "Clock change",
        "start": "2026-03-29T01:30:00+01:00",
        "end": "2026-03-29T03:30:00+02:00",
        "attendees": [],
    },
    {
        "id": "e6",
        "title": "Quarter end",
        "start": "2026-03-31",
        "end": "2026-04-01",
        "attendees": ["grace", "ada"],
        "all_day": True,
    },
]
STAGES = ["lead", "qualified", "proposal", "won", "lost"]
NAMES = [
    "Ana Sousa",
    "Bjørn Dahl",
    "Chidi Okafor",
    "Dana Levi",
    "Émile Roux",
    "Fatima Zahra",
    "Gus Park",
    "Hana Sato",
    "Ivo Kos",
    "Jo Lee",
    "Kai Wu",
]
CONTACTS: list[dict[str, Any]] = [
    {
        "id": 11 + at,
        "name": name,
        "email": f"{name.split()[0].lower()}@{['acme', 'globex', 'initech'][at % 3]}.example",
        "company": ["Acme", "Globex", "Initech"][at % 3],
        "tags": ["vip"] if at % 4 == 0 else [],
        "last_seen": f"2026-02-{1 + at * 2:02}" if at % 5 else None,
    }
    for at, name in enumerate(NAMES)
]
DEALS: list[dict[str, Any]] = [
    {
        "id": f"D-{number}",
        "contact_id": 11 + number * 5 % 11,
        "stage": STAGES[number % 5],
        "amount": number * 1250.5,
        "probability": [10, 30, 60, 100, 0][number % 5],
        "owner": ["ada", "grace"][number % 2],
        "close_date": f"2026-0{1 + number % 6}-15",
    }
    for number in range(1, 16)
]
STATUSES, PRIORITIES = ["open", "pending", "solved", "open"], ["low", "normal", "high", "urgent"]
TICKETS: list[dict[str, Any]] = [
    {
        "id": number,
        "subject": f"{['Cannot log in', 'Refund request', 'Feature idea', 'App crashes on start'][number % 4]} ({number})",
        "status": STATUSES[number % 4],
        "priority": PRIORITIES[number * 5 // 3 % 4],
        "requester": CONTACTS[number % 11]["email"],
        "tags": ["billing"] if number % 4 == 1 else ["tech", "mobile"][: number % 3],
        "created": f"2026-02-{1 + number % 28:02}T{number % 24:02}:00:00Z",
        "sla_hours": [72, 24, 8, 4][number * 5 // 3 % 4],
    }
    for number in range(1, 26)
]
ORDERS: list[dict[str, Any]] = [
    {
        "order_id": "A-1001",
        "customer": "acme",
        "currency": "EUR",
        "lines": [{"sku": "W-1", "qty": 3, "unit_price": "19.99"}, {"sku": "G-7", "qty": 1, "unit_price": "249.00"}],
        "discount": "0.10",
    },
    {
        "order_id": "A-1002",
        "customer": "globex",
        "currency": "USD",
        "lines": [{"sku": "W-1", "qty": 12, "unit_price": "0.10"}],
        "discount": None,
    },
    {"order_id": "A-1003", "customer": "acme", "currency": "EUR", "lines": [], "discount": None},
    {
        "order_id": "A-1004",
        "customer": "initech",
        "currency": "JPY",
        "lines": [{"sku": "Z-9", "qty": 2, "unit_price": "15000"}],
        "discount": "0.05",
    },
]
PRODUCTS = {
    "W-1": {"name": "Widget", "stock": 120, "weight_kg": 0.25},
    "G-7": {"name": "Gadget", "stock": 0, "weight_kg": 1.5},
    "Z-9": {"name": "Zeppelin ✈", "stock": 2, "weight_kg": 420.0},
}


def calendar() -> Server:
    """The calendar."""
    server = Server("calendar", "Events and free time")

    @server.tool(
        "list_events",
        "List events that start in a range of days",
        output=OBJECT,
        start="string",
        end="string",
        attendee="string?",
    )
    def list_events(args: dict[str, Any]) -> Result:
        found = [
            each
            for each in EVENTS
            if args["start"] <= each["start"][:10] <= args["end"]
            and args.get("attendee", "") in ["", *each["attendees"]]
        ]
        return structured({"events": found, "timezone": "Europe/Berlin"})

    @server.tool(
        "create_event",
        "Create an event",
        output=OBJECT,
        read=False,
        title="string",
        start="string",
        end="string",
        attendees="string[]?",
    )
    def create_event(args: dict[str, Any]) -> Result:
        if args["start"] >= args["end"]:
            return failed("end must be after start")
        return structured({"id": f"new-{len(args['title'])}", "status": "confirmed", **args})

    return server


def crm() -> Server:
    """The CRM."""
    server = Server("crm", "Contacts and deals")

    @server.tool(
        "list_contacts",
        "List contacts, a few at a time",
        output=OBJECT,
        cursor="string?",
        limit="integer?",
        company="string?",
    )
    def list_contacts(args: dict[str, Any]) -> Result:
        found = [each for each in CONTACTS if args.get("company", each["company"]) == each["company"]]
        start, limit = int((args.get("cursor") or "after:0").removeprefix("after:")), args.get("limit", 4)
        shown = found[start : start + limit]
        return structured(
            {"contacts": shown, "next_cursor": f"after:{start + limit}" if start + limit < len(found) else None}
        )

    @server.tool("get_contact", "Get a contact by id", output=OBJECT, id="integer")
    def get_contact(args: dict[str, Any]) -> Result:
        found = next((each for each in CONTACTS if each["id"] == args["id"]), None)
        return structured(found) if found else failed(f"contact {args['id']} does not exist")

    @server.tool(
        "list_deals", "List deals, of one stage or all", output=OBJECT, stage="|".join(STAGES) + "?", owner="string?"
    )
    def list_deals(args: dict[str, Any]) -> Result:
        return structured(
            {
                "deals": [
                    each
                    for each in DEALS
                    if args.get("stage", each["stage"]) == each["stage"]
                    and args.get("owner", each["owner"]) == each["owner"]
                ]
            }
        )

    @server.tool(
        "update_deal",
        "Change stage or amount of a deal",
        output=OBJECT,
        read=False,
        id="string",
        stage="|".join(STAGES) + "?",
        amount="number?",
    )
    def update_deal(args: dict[str, Any]) -> Result:
        found = next((each for each in DEALS if each["id"] == args["id"]), None)
        return structured({**found, **args}) if found else failed(f"deal {args['id']} does not exist")

    return server


def tickets() -> Server:
    """The ticket system."""
    server = Server("tickets", "Support tickets")

    @server.tool(
        "search_tickets",
        "Search tickets; answers in JSON text",
        status="open|pending|solved?",
        text="string?",
        start_at="integer?",
        max_results="integer?",
    )
    def search_tickets(args: dict[str, Any]) -> Result:
        found = [
            each
            for each in TICKETS
            if args.get("status", each["status"]) == each["status"]
            and args.get("text", "").lower() in each["subject"].lower()
        ]
        start, most = args.get("start_at", 0), args.get("max_results", 8)
        return json_text(
            {"issues": found[start : start + most], "startAt": start, "maxResults": most, "total": len(found)}
        )

    @server.tool("get_ticket", "Get one ticket", output=OBJECT, id="integer")
    def get_ticket(args: dict[str, Any]) -> Result:
        found = next((each for each in TICKETS if each["id"] == args["id"]), None)
        return structured(found) if found else failed(f"ticket {args['id']} not found")

    @server.tool("add_comment", "Comment on a ticket", read=False, id="integer", body="string", public="boolean?")
    def add_comment(args: dict[str, Any]) -> Result:
        return text(
            f"comment added to ticket {args['id']} ({'public' if args.get('public') else 'internal'}, {len(args['body'])} characters)"
        )

    return server


def shop() -> Server:
    """The shop."""
    server = Server("shop", "Orders, products and exchange rates")

    @server.tool("list_orders", "List orders with their lines; money is text", output=OBJECT, customer="string?")
    def list_orders(args: dict[str, Any]) -> Result:
        return structured(
            {"orders": [each for each in ORDERS if args.get("customer", each["customer"]) == each["customer"]]}
        )

    @server.tool("get_product", "Get a product by its SKU", output=OBJECT, sku="string")
    def get_product(args: dict[str, Any]) -> Result:
        found = PRODUCTS.get(args["sku"])
        return structured({"sku": args["sku"], **found}) if found else failed(f"unknown sku {args['sku']}")

    @server.tool("exchange_rate", "What one unit of `base` is worth", output=OBJECT, base="string", quote="string")
    def exchange_rate(args: dict[str, Any]) -> Result:
        euros = {"EUR": 1.0, "USD": 0.92, "JPY": 0.0061, "GBP": 1.17}
        if args["base"] not in euros or args["quote"] not in euros:
            return failed(f"no rate for {args['base']}/{args['quote']}")
        return structured(
            {"base": args["base"], "quote": args["quote"], "rate": round(euros[args["base"]] / euros[args["quote"]], 6)}
        )

    @server.tool("export_csv", "All order lines as CSV text")
    def export_csv(args: dict[str, Any]) -> Result:
        lines = [
            f"{order['order_id']};{line['sku']};{line['qty']};{line['unit_price'].replace('.', ',')}"
            for order in ORDERS
            for line in order["lines"]
        ]
        return text("order;sku;qty;price\r\n" + "\r\n".join(lines) + "\r\n")

    return server
