# A call chosen by a condition, awaited as a whole.
import json

for source in ("github", "tickets"):
    data = await (tools.github.get_issue(owner="a", repo="b", number=4) if source == "github" else tools.tickets.get_ticket(id=4))
    print(source, data.get("title") or data.get("subject"))
text = (await tools.tickets.search_tickets(max_results=1)) or "{}"
print(json.loads(text)["total"])
