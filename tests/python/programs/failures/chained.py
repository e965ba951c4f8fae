# `raise … from`: the last error counts.
try:
    tools.crm.get_contact(id=1)
except ToolError as error:
    raise LookupError("no such customer") from error
