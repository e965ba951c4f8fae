"""Programs that make writes which a person is asked about, in both languages."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """A program whose input is the arguments of calls, and which calls these tools for each."""

    language: str
    name: str
    code: str
    tools: tuple[str, ...]

    def value(self, calls: list[dict[str, Any]], denied: Collection[str] = ()) -> list[str]:
        """What it returns when each call was answered, but for those that were denied."""
        return [f"{'denied' if call['id'] in denied else tool} {call['id']}" for call in calls for tool in self.tools]


# A call of which a person found out that it was not sent is made again.
TS_WRITE = """
const write = async (call: any) => {
  for (;;) {
    try { return (await tools.rec.write(call)).done }
    catch (error: any) { if (error.code !== "not_sent") throw error }
  }
};
"""
PY_WRITE = """
import asyncio

async def write(call):
    while True:
        try:
            return (await tools.rec.write(**call))["done"]
        except ToolError as error:
            if error.code != "not_sent":
                raise
"""
BESIDE = {
    "ts": Program("ts", "beside", TS_WRITE + "return await Promise.all(input.map(write));", ("write",)),
    "py": Program("py", "beside", PY_WRITE + "return await asyncio.gather(*[write(call) for call in input])", ("write",)),
}
IN_SEQUENCE = {
    "ts": Program(
        "ts",
        "in-sequence",
        TS_WRITE
        + """
        const done = [];
        for (const call of input) {
          done.push((await tools.rec.read({ id: call.id })).done);
          done.push(await write(call));
        }
        return done;
        """,
        ("read", "write"),
    ),
    "py": Program(
        "py",
        "in-sequence",
        PY_WRITE
        + """
done = []
for call in input:
    done.append((await tools.rec.read(id=call["id"]))["done"])
    done.append(await write(call))
return done
""",
        ("read", "write"),
    ),
}
# A write that is denied has the code of its error in the value.
CATCHING = {
    "ts": Program(
        "ts",
        "catching",
        """
        const write = async (call: any) => {
          try { return (await tools.rec.write(call)).done }
          catch (error: any) { return `${error.code} ${call.id}` }
        };
        return await Promise.all(input.map(write));
        """,
        ("write",),
    ),
    "py": Program(
        "py",
        "catching",
        """
import asyncio

async def write(call):
    try:
        return (await tools.rec.write(**call))["done"]
    except ToolError as error:
        return f"{error.code} {call['id']}"

return await asyncio.gather(*[write(call) for call in input])
""",
        ("write",),
    ),
}


def calls_of(name: str, rng: random.Random) -> list[dict[str, Any]]:
    """Three writes that no other execution makes."""
    return [{"id": f"{name}-{letter}", "wait_ms": rng.randrange(40)} for letter in "abc"]
