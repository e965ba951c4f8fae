"""Client under test of the suite: the built gateway, with a client and a user in front of it.

The suite starts it with a server's address as last argument, and with what a person would have configured in
`MCP_CONFORMANCE_CONTEXT`. The address becomes the one server of a `limbeck serve`. All tools that the server
offers is listed, and used twice: from programs, and listed as it is. Where the gateway says that a sign-in is
needed, `limbeck auth login` is run as a person runs it on a machine without a browser: the address it prints is
opened, and where that leads to is pasted. Exit code 0 means that every call was answered.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import limbeck
import suite
import wire
from wire import Message

# URL of the client metadata that the suite expects; it is never fetched.
METADATA_URL = "https://conformance-test.local/client-metadata.json"
# Sign-ins for one call. The product has bounds of its own; this one is the person's patience.
SIGN_INS_MAX = 4
# Text of an error that a sign-in can resolve; an error after a sign-in has another text.
SIGN_IN = "sign in with `limbeck auth login peer`"

# A call of an unknown tool makes the gateway list the tools, and report why it cannot.
LOOK = "await tools.peer.no_such_tool({});"
CALL = "return await tools.peer[input.tool].raw(input.arguments);"
READ = """
for (const { uri } of await servers.peer.resources.list()) await servers.peer.resources.read(uri);
for (const { name } of await servers.peer.prompts.list()) await servers.peer.prompts.get(name, {});
"""


class NeverContent(Exception):
    """A sign-in failed, or changed nothing."""


class Person:
    """Configures the gateway, and signs in."""

    def __init__(self, directory: Path, url: str, context: Message) -> None:
        self.directory = directory
        self.entry = {
            "type": "http",
            "url": url,
            "allow_http": True,
            "expose": "both",
            "oauth": {"clientMetadataUrl": METADATA_URL, **registered(context)},
        }

    def environment(self) -> dict[str, str]:
        """A home without anything in it."""
        return {"HOME": str(self.directory), "PATH": os.environ["PATH"]}

    def sign_in(self) -> None:
        """Runs `limbeck auth login` and follows its instructions."""
        options = limbeck.only(self.directory, self.directory / "servers.json")
        process = subprocess.Popen(
            [suite.limbeck(), "auth", "login", "peer", "--no-browser", *options],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # Nothing is printed when no consent is needed.
        page = process.stdout.readline().strip()
        process.communicate(f"{redirect_of(page)}\n" if page else None)
        if process.returncode != 0:
            raise NeverContent(f"signing in ended with {process.returncode}")

    def signing_in(self, work: Callable[[], Message]) -> Message:
        """Does `work`, and signs in and does it again when that is what it takes."""
        for _ in range(SIGN_INS_MAX):
            answer = work()
            if SIGN_IN not in json.dumps(answer):
                return answer
            self.sign_in()
        raise NeverContent("the server wants one sign-in after the other")


def registered(context: Message) -> dict[str, str]:
    """Settings of an entry for a client that was registered beforehand."""
    settings = {
        "clientId": context.get("client_id"),
        "clientSecret": context.get("client_secret"),
        "privateKey": context.get("private_key_pem"),
        "algorithm": context.get("signing_algorithm"),
    }
    # The suite distinguishes the two grants by the presence of an issuer.
    is_account = "private_key_pem" in context or ("client_secret" in context and "issuer" not in context)
    if is_account and os.environ["MCP_CONFORMANCE_SCENARIO"] != "auth/pre-registration":
        settings["grant"] = "client_credentials"
    return {key: value for key, value in settings.items() if value}


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any) -> None:
        return None


def redirect_of(page: str) -> str:
    """Where a browser that opens `page` ends up; the suite's pages ask nothing."""
    try:
        urllib.request.build_opener(Stay).open(page, timeout=wire.PATIENCE_S)
    except urllib.error.HTTPError as answer:
        if "Location" in answer.headers:
            return answer.headers["Location"]
        raise
    raise NeverContent("the sign-in page does not redirect")


def fitting(schema: Any) -> Any:
    """A value that a schema takes: its default, or the least there is."""
    if not isinstance(schema, dict):
        return None
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    least = {"string": "text", "number": 1.5, "integer": 1, "boolean": True, "array": []}
    if schema.get("type") in least:
        return least[schema["type"]]
    needed = schema.get("required", [])
    return {name: fitting(schema.get("properties", {}).get(name)) for name in needed}


def form(request: Message) -> Message:
    """Fills in every field that a server asks for."""
    fields = request["params"]["requestedSchema"]["properties"]
    return {"action": "accept", "content": {name: fitting(field) for name, field in fields.items()}}


class Desk:
    """A client of the gateway that answers what it is asked."""

    def __init__(self, person: Person, client: wire.Stdio, era: str) -> None:
        self.person, self.client, self.era = person, client, era

    def ask(self, method: str, params: Message) -> Message:
        """The end of a request, however many questions are asked before it."""
        answer = self.client.ask(method, wire.with_meta(self.era, params))
        while answer.get("result", {}).get("resultType") == "input_required":
            result = answer["result"]
            responses = {key: form(request) for key, request in result.get("inputRequests", {}).items()}
            more = {"inputResponses": responses, "requestState": result["requestState"]}
            answer = self.client.ask(method, wire.with_meta(self.era, params | more))
        return answer

    def execute(self, code: str, value: Any = None) -> Message:
        """What a program ends with."""
        arguments = {"code": code, "input": value}
        answer = self.person.signing_in(lambda: self.ask("tools/call", {"name": "execute", "arguments": arguments}))
        return json.loads(answer["result"]["content"][0]["text"])

    def call(self, tool: str, arguments: Message) -> Message:
        """The answer of a tool that is listed as it is."""
        params = {"name": tool, "arguments": arguments}
        return self.person.signing_in(lambda: self.ask("tools/call", params))

    def tools(self) -> dict[str, Any]:
        """Schemas of the server's tools, by name."""
        looked = self.execute(LOOK)
        assert looked["error"], looked
        listed = self.ask("tools/list", {})["result"]["tools"]
        return {tool["name"]: tool["inputSchema"] for tool in listed if tool["name"] not in ("search", "execute")}


def planned(context: Message, tools: dict[str, Any]) -> list[tuple[str, Message]]:
    """The calls the suite asks for, or one of each tool."""
    if "toolCalls" not in context:
        return [(name, fitting(schema)) for name, schema in tools.items()]
    # The gateway checks arguments, and a parameter that may be left out need not take null.
    kept = lambda arguments: {name: value for name, value in arguments.items() if value is not None}  # noqa: E731
    return [(call["name"], kept(call["arguments"])) for call in context["toolCalls"]]


def use(desk: Desk, context: Message) -> None:
    """Uses everything the server has, in both ways. A server may refuse arguments it does not like."""
    calls = planned(context, desk.tools())
    for tool, arguments in calls:
        desk.execute(CALL, {"tool": tool, "arguments": arguments})
    desk.execute(READ)
    for tool, arguments in calls:
        desk.call(tool, arguments)


def main() -> None:
    url = sys.argv[-1]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    era = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    with tempfile.TemporaryDirectory() as directory:
        person = Person(Path(directory), url, context)
        command = limbeck.serve(person.directory, person.entry)
        with wire.stdio(era, *command, answering=form, environment=person.environment()) as client:
            use(Desk(person, client, era), context)


if __name__ == "__main__":
    main()
