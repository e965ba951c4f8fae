# string.Template, format_map and format specifications.
from string import Template

contact = tools.crm.get_contact(id=12)
letter = Template("Dear ${name},\n$company owes us $$${amount}. $missing")
print(letter.safe_substitute(contact, amount="12.50"))
try:
    letter.substitute(contact)
except KeyError as e:
    print("missing", e)

class Default(dict):
    def __missing__(self, key):
        return f"<{key}>"

print("{name:>12} | {company!r:<10} | {phone}".format_map(Default(contact)))
print("{0[name]} {0.email} {1:{2}.{3}f}".format(contact, 3.14159, 10, 3))
