# attack: listens to every audited operation of the prelude for paths and names that it should not know
# property: S55
# tools: ["probe.echo"]
# expect: value []
import sys

heard = []
sys.addaudithook(lambda event, args: heard.append((event, repr(args)[:200])))
tools.probe.echo({"a": 1})
try:
    open("/etc/passwd")
except OSError:
    pass
store.set("heard", 1)
foreign = [entry for entry in heard if any(part in entry[1] for part in ["/root", "/home", "/usr", "/work", "note"])]
return foreign
