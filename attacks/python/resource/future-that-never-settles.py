# attack: waits for what can never come, to hold its place until the limit
# property: S26
# timeout_ms: 30000
# expect: error never_settles
import asyncio

await asyncio.get_running_loop().create_future()
