"""Weather, a wiki of HTML pages, time series, a service that fails and takes its time, odd names, and every kind of result."""

import base64
from typing import Any

from toolkit import OBJECT, Result, Server, blocks, failed, json_text, nothing, slow, structured, text

CITIES = {
    "Paris": ("Europe/Paris", 48.8566, 2.3522, 12.5),
    "Tokyo": ("Asia/Tokyo", 35.6762, 139.6503, 17.0),
    "Oslo": ("Europe/Oslo", 59.9139, 10.7522, -3.5),
    "São Paulo": ("America/Sao_Paulo", -23.5505, -46.6333, 27.25),
    "Nairobi": ("Africa/Nairobi", -1.2921, 36.8219, 21.0),
}
PAGES = {
    "home": (
        "Home",
        "<h1>Home</h1><p>Welcome to the <b>wiki</b>.</p><ul><li><a href='/wiki/setup'>Setup</a></li><li><a href='/wiki/faq?x=1&amp;y=2'>FAQ</a></li></ul>",
    ),
    "setup": (
        "Setup",
        "<h1>Setup</h1><p>Run <code>make</code>&nbsp;first.</p><p>See <a href='/wiki/home'>home</a> and <a href='https://example.org/x'>this</a>.</p>",
    ),
    "faq": (
        "FAQ",
        "<h1>FAQ</h1><table><tr><th>Q</th><th>A</th></tr><tr><td>Price?</td><td>&euro;5</td></tr><tr><td>Size?</td><td>10 &lt; x</td></tr></table>",
    ),
    "orphan": ("Orphan", "<p>Nobody links here.</p>"),
}


def weather() -> Server:
    """The weather."""
    server = Server("weather", "Forecasts, current weather and alerts")

    @server.tool("get_forecast", "Forecast for some days", output=OBJECT, city="string", days="integer?")
    def get_forecast(args: dict[str, Any]) -> Result:
        if args["city"] not in CITIES:
            return failed(f"unknown city: {args['city']}")
        zone, lat, lon, base = CITIES[args["city"]]
        days = [
            {
                "date": f"2026-03-{day + 1:02}",
                "high": round(base + day * 0.7, 1),
                "low": round(base - 6.3 + day % 3, 1),
                "conditions": ["sunny", "rain", "cloudy"][(day + len(args["city"])) % 3],
            }
            for day in range(args.get("days", 3))
        ]
        return structured({"city": args["city"], "timezone": zone, "latitude": lat, "longitude": lon, "days": days})

    @server.tool("get_current", "Current weather in one line of text", city="string")
    def get_current(args: dict[str, Any]) -> Result:
        if args["city"] not in CITIES:
            return failed(f"unknown city: {args['city']}")
        return text(f"{args['city']}: {CITIES[args['city']][3]}°C, wind 14 km/h NW, humidity 65%")

    @server.tool("get_alerts", "Alerts of a city; nothing when there are none", city="string")
    def get_alerts(args: dict[str, Any]) -> Result:
        return json_text([{"level": "orange", "event": "Snow"}]) if args["city"] == "Oslo" else nothing()

    return server


def wiki() -> Server:
    """The wiki."""
    server = Server("wiki", "Pages of HTML")

    @server.tool("list_pages", "List page names", output=OBJECT)
    def list_pages(args: dict[str, Any]) -> Result:
        return structured({"pages": list(PAGES)})

    @server.tool("get_page", "Get a page with its HTML", output=OBJECT, slug="string")
    def get_page(args: dict[str, Any]) -> Result:
        if args["slug"] not in PAGES:
            return failed(f"404: {args['slug']}")
        title, html = PAGES[args["slug"]]
        return slow(0.01, structured({"slug": args["slug"], "title": title, "html": html, "revision": len(html)}))

    return server


def time_series() -> Server:
    """A monitoring system; its name has a hyphen."""
    server = Server("time-series", "Metrics over time")

    @server.tool("query_range", "Points of a metric, one a minute", output=OBJECT, metric="string", minutes="integer?")
    def query_range(args: dict[str, Any]) -> Result:
        seed = sum(map(ord, args["metric"]))
        points = [
            [1772323200 + at * 60, None if (at + seed) % 17 == 0 else (seed * (at + 3) * 7919 % 1000) / 10]
            for at in range(args.get("minutes", 30))
        ]
        return structured({"metric": args["metric"], "unit": "ms", "points": points})

    @server.tool("list-metrics", "Names of all metrics", output=OBJECT)
    def list_metrics(args: dict[str, Any]) -> Result:
        return structured({"metrics": ["cpu", "latency", "requests", "queue.depth"]})

    return server


def flaky() -> Server:
    """A service that fails on demand. Failures are counted for each key, so programs use keys of their own."""
    server = Server("flaky", "Fails, and takes its time")
    attempts: dict[str, int] = {}

    @server.tool(
        "fetch",
        "Fails the first `fail_times` times for a key, then answers",
        output=OBJECT,
        key="string",
        fail_times="integer?",
    )
    def fetch(args: dict[str, Any]) -> Result:
        attempts[args["key"]] = attempt = attempts.get(args["key"], 0) + 1
        if attempt <= args.get("fail_times", 2):
            return failed(f"503 temporarily unavailable (attempt {attempt})")
        return structured({"key": args["key"], "attempt": attempt, "ok": True})

    @server.tool("fail", "Always fails with the given text", message="string")
    def fail(args: dict[str, Any]) -> Result:
        return failed(args["message"])

    @server.tool("wait", "Answers with `value` after some milliseconds", output=OBJECT, ms="integer", value="any?")
    def wait(args: dict[str, Any]) -> Result:
        return slow(args["ms"] / 1000, structured({"value": args.get("value"), "ms": args["ms"]}))

    @server.tool("wait_and_fail", "Fails after some milliseconds", ms="integer", message="string")
    def wait_and_fail(args: dict[str, Any]) -> Result:
        return slow(args["ms"] / 1000, failed(args["message"]))

    return server


def shapes() -> Server:
    """Every kind of result."""
    server = Server("shapes", "Results of every kind")

    @server.tool("echo", "Gives back what it got", output=OBJECT, value="any")
    def echo(args: dict[str, Any]) -> Result:
        return structured({"value": args["value"]})

    @server.tool("plain_text", "One text")
    def plain_text(args: dict[str, Any]) -> Result:
        return text("just text, 100% plain\nsecond line")

    @server.tool("number_text", "A text that looks like a number")
    def number_text(args: dict[str, Any]) -> Result:
        return text("42")

    @server.tool("json_list", "A JSON list as text, no schema declared")
    def json_list(args: dict[str, Any]) -> Result:
        return json_text([{"id": 1, "name": "one"}, {"id": 2, "name": "two"}])

    @server.tool("typed_text", "JSON as text with a declared schema", output=OBJECT)
    def typed_text(args: dict[str, Any]) -> Result:
        return json_text({"items": [1, 2.5, None, True], "keys": {"items": "clash", "get": "clash"}})

    @server.tool("many_texts", "Three texts")
    def many_texts(args: dict[str, Any]) -> Result:
        return text("first", "second", "third")

    @server.tool("nothing", "No content at all")
    def no_content(args: dict[str, Any]) -> Result:
        return nothing()

    @server.tool("picture", "A caption and a picture")
    def picture(args: dict[str, Any]) -> Result:
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n0123").decode()
        return blocks([{"type": "text", "text": "a caption"}, {"type": "image", "data": data, "mimeType": "image/png"}])

    @server.tool("unicode", "Text in many scripts", output=OBJECT)
    def unicode(args: dict[str, Any]) -> Result:
        words = {
            "café": "e\u0301",
            "family": "👨‍👩‍👧",
            "flag": "🇪🇺",
            "ß": "STRASSE",
            "rtl": "שלום",
            "zwsp": "a\u200bb",
            "nul": "a\u0000b",
            "line": "a\u2028b",
        }
        return structured({"words": words, "sorted": ["z", "ä", "a", "Z", "é", "e"]})

    @server.tool("numbers", "Numbers at the edges", output=OBJECT)
    def numbers(args: dict[str, Any]) -> Result:
        return structured(
            {
                "big": 2**53 + 1,
                "bigger": 12345678901234567890,
                "negative": -7,
                "float": 0.1,
                "whole": 3.0,
                "tiny": 1e-300,
                "huge": 1.5e300,
                "zero": -0.0,
            }
        )

    @server.tool("rows", "Many rows", output=OBJECT, count="integer")
    def rows(args: dict[str, Any]) -> Result:
        return structured(
            {
                "rows": [
                    {"id": at, "group": "abc"[at % 3], "score": at * 7919 % 1009 / 10} for at in range(args["count"])
                ]
            }
        )

    @server.tool("nested", "A deep tree", output=OBJECT)
    def nested(args: dict[str, Any]) -> Result:
        tree = {
            "name": "root",
            "children": [
                {"name": "a", "children": [{"name": "a1", "size": 3}, {"name": "a2", "size": 4}]},
                {"name": "b", "size": 10},
                {"name": "c", "children": []},
            ],
        }
        return structured({"tree": tree})

    return server


def legacy_api() -> Server:
    """Names that are no identifiers, or are keywords."""
    server = Server("legacy-api", "Odd names")

    @server.tool("Get-Weird.name", "A name with a hyphen and a dot", output=OBJECT, id="integer?")
    def weird(args: dict[str, Any]) -> Result:
        return structured({"weird": True, "id": args.get("id")})

    @server.tool("import", "A name that is a keyword", output=OBJECT, **{"from": "string", "class": "string?"})
    def keyword(args: dict[str, Any]) -> Result:
        return structured({"imported": args["from"], "class": args.get("class")})

    @server.tool("get items", "A name with a space", output=OBJECT)
    def space(args: dict[str, Any]) -> Result:
        return structured({"items": [3, 1, 2], "count": 3})

    return server
