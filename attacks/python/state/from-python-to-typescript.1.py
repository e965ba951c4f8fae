# attack: leaves calls, tasks and timers in flight for a program of the other language
# property: S12
# expect: value "left"
import asyncio
import builtins

builtins.polluted = 1
tasks = [asyncio.ensure_future(tools.probe.echo({"left": i})) for i in range(50)]
asyncio.get_running_loop().call_later(0.05, print, "left")
await asyncio.sleep(0)
return "left"
