# attack: uses ordinary names after a program before gave them other meanings, and a kept function that writes past its patterns
# property: S59
# tools: ["shop.list_customers"]
# expect: value [3, [1], true, "denied"]
import builtins
import json

out = [len([1, 2, 3]), json.loads("[1]"), isinstance(1, int) and not hasattr(builtins, "polluted")]
try:
    python_saved_note("saved")
    out.append("sent")
except ToolError as error:
    out.append(error.code)
print("ordinary")
return out
