# A cursor with the walrus operator.
names, cursor = [], None
while (reply := tools.slack.list_channels(**({"cursor": cursor} if cursor else {}))):
    names.extend(c["name"] for c in reply["channels"])
    if not (cursor := reply["next_cursor"]):
        break
names
