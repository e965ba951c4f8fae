# attack: looks for marks of a program that runs at the same time
# property: S13
# expect: value [0, "mine"]
import asyncio
import builtins
import os

builtins.second = 1
seen = 0
for i in range(30):
    with open("/tmp/second", "a") as file:
        file.write("second")
    await asyncio.sleep(0.003)
    seen += hasattr(builtins, "first") + os.path.exists("/tmp/first")
    text = (await tools.probe.echo({"from": "second"})).text
    seen += "second" not in text
return [seen, "mine"]
