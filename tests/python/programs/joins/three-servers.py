# Tickets, contacts and calendar together, the way an assistant prepares a meeting.
import json

found = json.loads(tools.tickets.search_tickets(status="open", max_results=50))
page = tools.crm.list_contacts(limit=20)
by_email = {c["email"]: c for c in page["contacts"]}
events = tools.calendar.list_events(start="2026-03-01", end="2026-03-31")["events"]

urgent = [t for t in found["issues"] if t["priority"] in ("high", "urgent")]
agenda = {}
for ticket in urgent:
    contact = by_email.get(ticket["requester"])
    company = contact["company"] if contact else "?"
    agenda.setdefault(company, []).append(ticket["subject"])

busy = {person for event in events for person in event["attendees"]}
result = {
    "agenda": {company: sorted(subjects) for company, subjects in sorted(agenda.items())},
    "people": sorted(busy),
    "open": found["total"],
}
