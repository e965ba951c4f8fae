# attack: sends arguments above the bound of one call
# property: S28
# timeout_ms: 10000
# expect: error output_limit
tools.probe.echo({"text": "x" * (5 << 20)})
