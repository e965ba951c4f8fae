# Resolves user ids in chat messages to names, bots left out.
import json
import re

users = {u["id"]: u for u in json.loads(await tools.slack.list_users())["members"]}
history = await tools.slack.get_channel_history(channel="#engineering")

def mention(match: re.Match) -> str:
    user = users.get(match.group(1))
    return f"@{user['name']}" if user else match.group(0)

for message in history["messages"]:
    author = users[message["user"]]
    if author["is_bot"]:
        continue
    text = re.sub(r"<@(\w+)>", mention, message["text"])
    print(f"{author['real_name']}: {text}")
len(history["messages"])
