# Writes sent in a loop with results collected in order.
import asyncio

posted = []
for channel, text in (("#a", "one"), ("#b", "three"), ("#readonly", "x")):
    try:
        posted.append((await tools.slack.post_message(channel=channel, text=text))["length"])
    except ToolError as error:
        posted.append(str(error))
print(posted)
results = await asyncio.gather(*(tools.tickets.add_comment(id=n, body="hi" * n) for n in (1, 2)), return_exceptions=True)
results
