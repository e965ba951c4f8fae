# A mail message built and parsed.
from email import message_from_string
from email.message import EmailMessage
from email.utils import parseaddr

contact = tools.crm.get_contact(id=15)
mail = EmailMessage()
mail["Subject"] = "Grüße"
mail["From"] = "Reports <reports@example.org>"
mail["To"] = f"{contact['name']} <{contact['email']}>"
mail.set_content("Hello,\nsee attachment.\n")
mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="report.csv")
parsed = message_from_string(mail.as_string())
print(parsed.get_content_type(), [p.get_filename() for p in parsed.walk()], parseaddr("Ana <a@x.example>"))
print(mail["Subject"], mail["To"], mail.get_body().get_content())
