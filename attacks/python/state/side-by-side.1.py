# attack: leaves marks in modules and files while another program runs at the same time
# property: S13
# order: together
# expect: value [0, "mine"]
import asyncio
import builtins
import os

builtins.first = 1
seen = 0
for i in range(30):
    with open("/tmp/first", "a") as file:
        file.write("first")
    await asyncio.sleep(0.003)
    seen += hasattr(builtins, "second") + os.path.exists("/tmp/second")
    text = (await tools.probe.echo({"from": "first"})).text
    seen += "first" not in text
return [seen, "mine"]
