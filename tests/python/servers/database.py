"""A database that answers SQL, with rows as lists."""

import sqlite3
from typing import Any

from toolkit import OBJECT, Result, Server, failed, structured, text

SCHEMA = """
create table customers (id integer primary key, name text not null, country text, signup text);
create table orders (id integer primary key, customer_id integer references customers, total text not null, currency text, placed text);
create table events (id integer primary key, kind text, payload text, at text);
"""
CUSTOMERS = [
    (1, "Acme GmbH", "DE", "2024-01-15"),
    (2, "Globex", "US", "2024-02-29"),
    (3, "Initech", "US", "2025-07-04"),
    (4, "Société Générique", "FR", "2025-11-30"),
    (5, "株式会社サンプル", "JP", "2026-01-01"),
    (6, "Orphan Ltd", None, "2026-02-10"),
]
ORDERS = [
    (
        number,
        1 + number * 3 % 5,
        f"{number * 1999 % 30000 / 100:.2f}",
        ["EUR", "USD", "USD", "JPY"][number % 4],
        f"2026-{1 + number % 3:02}-{1 + number % 28:02}",
    )
    for number in range(1, 31)
]
EVENTS = [
    (
        number,
        ["login", "view", "purchase", "logout"][number * (number + 1) // 2 % 4],
        f'{{"user": {number % 4}, "ms": {number * 131 % 997}}}',
        f"2026-03-01T{number // 4:02}:{number * 7 % 60:02}:00Z",
    )
    for number in range(1, 41)
]


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(SCHEMA)
    connection.executemany("insert into customers values (?, ?, ?, ?)", CUSTOMERS)
    connection.executemany("insert into orders values (?, ?, ?, ?, ?)", ORDERS)
    connection.executemany("insert into events values (?, ?, ?, ?)", EVENTS)
    connection.execute("pragma query_only = on")
    return connection


def make() -> Server:
    """The server."""
    server = Server("database", "Read-only SQL over customers, orders and events")
    connection = _connect()

    @server.tool("query", "Run one SELECT and get its rows", output=OBJECT, sql="string", params="any[]?")
    def query(args: dict[str, Any]) -> Result:
        try:
            cursor = connection.execute(args["sql"], args.get("params", []))
            rows = [list(row) for row in cursor.fetchall()]
        except sqlite3.Error as error:
            return failed(f"SQL error: {error}")
        return structured(
            {"columns": [column[0] for column in cursor.description or []], "rows": rows, "row_count": len(rows)}
        )

    @server.tool(
        "list_tables",
        "List the tables",
        output={"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}},
    )
    def list_tables(args: dict[str, Any]) -> Result:
        return structured({"result": ["customers", "events", "orders"]})

    @server.tool("describe_table", "Show the columns of a table as text", table="string")
    def describe_table(args: dict[str, Any]) -> Result:
        columns = connection.execute("select name, type, pk from pragma_table_info(?)", [args["table"]]).fetchall()
        if not columns:
            return failed(f"no such table: {args['table']}")
        return text("\n".join(f"{name} {kind.upper()}{' PRIMARY KEY' if key else ''}" for name, kind, key in columns))

    return server
