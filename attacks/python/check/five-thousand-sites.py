# attack: more call sites than the check may be sent
# property: S28
# timeout_ms: 10000
# build: [["def f():\n  pass\n", 1], ["  tools.probe.echo(a=1,b='x')\n", 5000], ["return 'ran'", 1]]
# expect: contained
