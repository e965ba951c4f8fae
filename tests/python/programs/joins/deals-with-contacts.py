# A left join of deals to contacts with one call for each contact, each made once.
deals = tools.crm.list_deals(stage="proposal")["deals"]
contacts = {}
for deal in deals:
    cid = deal["contact_id"]
    if cid not in contacts:
        contacts[cid] = tools.crm.get_contact(id=cid)

lines = []
for deal in sorted(deals, key=lambda d: -d["amount"]):
    contact = contacts[deal["contact_id"]]
    lines.append(f"{deal['id']:>5} {contact['name']:<14} {contact['company']:<8} {deal['amount']:>10,.2f} ({deal['probability']}%)")
print("\n".join(lines))
weighted = sum(d["amount"] * d["probability"] / 100 for d in deals)
print(f"weighted: {weighted:,.2f}")
