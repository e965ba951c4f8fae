# Records: attributes, items, methods of dict, missing keys, changes, copies.
data = tools.shapes.typed_text()
print(data.keys(), data["keys"]["items"], data["items"], data.get("nope", "default"))
contact = tools.crm.get_contact(id=11)
print(contact.name, contact["email"], contact.tags[0], "name" in contact, sorted(contact)[:2], isinstance(contact, dict))
contact["note"] = "added"
print(contact.note, len(contact), {**contact, "id": 0}["id"], contact == dict(contact))
for wrong in (lambda: contact.phone, lambda: contact["phone"]):
    try:
        wrong()
    except (AttributeError, KeyError) as error:
        print(type(error).__name__)
import json
print(json.dumps(tools.wiki.list_pages()), contact.pop("note"), {k: type(v).__name__ for k, v in contact.items()})
