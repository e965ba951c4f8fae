# Errors of the program's own, caught by base class.
class AppError(Exception):
    code = 1

class NotFound(AppError):
    code = 404

    def __init__(self, what, key):
        self.what, self.key = what, key

    def __str__(self):
        return f"no {self.what} {self.key!r}"

class Denied(AppError):
    code = 403

def contact(cid):
    try:
        return tools.crm.get_contact(id=cid)
    except ToolError:
        raise NotFound("contact", cid) from None

for cid in (12, 99):
    try:
        print(contact(cid)["name"])
    except Denied:
        print("denied")
    except AppError as e:
        print(e.code, e, e.args)
