"""Five clients over one configuration of five servers: with one gateway, and with five of their own.

    python3 benches/sharing/measure.py [LIMBECK]

prints processes, memory (proportional set size of all processes) and the time from the start of a client to its first answer of a
server. The servers are the sample server of `limbeck demo`. Linux only.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS, SERVERS = 5, 5
CODE = "return (await Promise.all(['a','b','c','d','e'].map((name) => tools[name].get_customer({id: 'cus_0003'})))).length"


class Client:
    """A `limbeck serve` with one client."""

    def __init__(self, limbeck: str, home: Path, options: list[str]) -> None:
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [limbeck, "serve", *options],
            env={"HOME": str(home), "PATH": os.environ["PATH"]},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "m", "version": "1"}}
        self.ask(1, "initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, id: int, method: str, params: dict) -> dict:
        self.send({"id": id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == id:
                return message
        raise SystemExit("the gateway ended")

    def first_answer(self) -> float:
        """Seconds from the start of the process to the answer of five servers."""
        answer = self.ask(2, "tools/call", {"name": "execute", "arguments": {"code": CODE}})
        envelope = json.loads(answer["result"]["content"][0]["text"])
        assert envelope.get("value") == SERVERS, envelope
        return time.monotonic() - self.begun


def family(roots: list[int]) -> set[int]:
    """The processes and all that they started."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, new = set(), set(roots)
    while new:
        found |= new
        new = {pid for pid, parent in parents.items() if parent in new}
    return found


def memory_mb(pids: set[int]) -> float:
    """Proportional set size of the processes that can be read: workers cannot."""
    kb = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        kb += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return kb / 1024


def measure(limbeck: str, options: list[str]) -> dict:
    """One run with all clients."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        config = home / ".config/limbeck/config.toml"
        config.parent.mkdir(parents=True)
        entries = (f"[servers.{name}]\ncommand = {json.dumps(limbeck)}\nargs = ['demo-upstream']\n" for name in "abcde")
        config.write_text("\n".join(entries))
        clients, answers = [], []
        for _ in range(CLIENTS):
            client = Client(limbeck, home, options)
            answers.append(client.first_answer())
            clients.append(client)
        pids = family([client.process.pid for client in clients])
        found = {
            "processes": len(pids),
            "memory_mb": round(memory_mb(pids), 1),
            "a later client's process, MB": round(memory_mb({clients[-1].process.pid}), 1),
            "first client's first answer, ms": round(1000 * answers[0]),
            "later clients' first answer, ms (median)": round(1000 * statistics.median(answers[1:])),
        }
        for client in reversed(clients):
            client.process.stdin.close()
            client.process.wait()
        return found


def main() -> None:
    """Both ways."""
    limbeck = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/debug/limbeck")
    for title, options in (("one gateway", []), ("a gateway for each", ["--no-share"])):
        print(title)
        for what, value in measure(limbeck, options).items():
            print(f"  {what}: {value}")


main()
