# attack: makes wrong and denied calls by names computed when they are made, so that the check before cannot know them
# property: S44
# tools: ["shop.list_customers"]
# expect: value ["invalid_arguments", "denied", "denied", "invalid_arguments", "denied"]
import builtins
import operator

out = []
for call in [
    lambda: getattr(tools.shop, "_".join(["list", "customers"]))(page_siz=1),
    lambda: operator.attrgetter("probe.echo")(tools)(),
    lambda: eval("tools.probe.echo()"),
    lambda: (lambda t: t.list_customers)(tools.shop)(**{"page_size": "many"}),
    lambda: vars(builtins)["getattr"](tools, "probe").note(),
]:
    try:
        out.append(repr(call()))
    except ToolError as error:
        out.append(error.code)
return out
