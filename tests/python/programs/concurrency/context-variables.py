# Every task has its own copy of a context variable.
import asyncio
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")

async def log(message):
    await asyncio.sleep(0)
    return f"[{request_id.get()}] {message}"

async def handle(n):
    request_id.set(f"req-{n}")
    await tools.shapes.echo(value=n)
    return await log(f"handled {n}")

print("\n".join(await asyncio.gather(*(handle(n) for n in range(3)))))
print(await log("outside"))
