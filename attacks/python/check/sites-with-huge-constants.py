# attack: a call site whose constant arguments are larger than the check may be sent
# property: S28
# timeout_ms: 10000
# build: [["def f():\n  tools.probe.echo(a='", 1], ["\\u0000", 40000], ["')\nreturn 'ran'", 1]]
# expect: value "ran"
