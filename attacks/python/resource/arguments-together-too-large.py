# attack: sends arguments that are small each and too much together
# property: S28
# timeout_ms: 20000
# expect: error output_limit|call_limit|memory_limit
text = "x" * (3 << 20)
pending = [tools.probe.echo({"text": text}) for _ in range(200)]
await pending[0]
