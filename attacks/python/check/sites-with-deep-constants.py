# attack: a call site whose constant arguments nest deeper than JSON may
# property: S24
# timeout_ms: 10000
# build: [["def f():\n  tools.probe.echo(a=", 1], ["[", 80], ["]", 80], [")\n  tools.probe.echo(a=", 1], ["{'a':", 70], ["1", 1], ["}", 70], [")\nreturn 'ran'", 1]]
# expect: value "ran"
