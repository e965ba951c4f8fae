# attack: starts more calls than may wait, without awaiting any
# property: S27
# timeout_ms: 10000
# expect: error call_limit
import asyncio

pending = [tools.probe.echo(i=i) for i in range(20_000)]
await asyncio.sleep(3600)
