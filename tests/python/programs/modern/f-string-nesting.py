# Quotes and comments inside f-strings, as Python 3.12 allows.
# reference: 3.12
contacts = tools.crm.list_contacts(limit=3)["contacts"]
print(f"{", ".join(f"{c["name"]} <{c["email"]}>" for c in contacts)}")
print(f"total: {
    len(contacts)  # how many
}")
print(f"{f"{f"{1 + 1}"}"}", f"{'\n'.join(c["company"] for c in contacts)}")
