# attack: waits in the event loop for times that are negative, no numbers and beyond every clock
# property: S26
# timeout_ms: 1000
# expect: error timeout
import asyncio

loop = asyncio.get_running_loop()
for seconds in [0, -1, -1e300, 1e-300, True]:
    await asyncio.sleep(seconds)
for seconds in [1e300, 2**60]:
    try:
        loop.call_later(seconds, print, "forged")
        loop.call_at(-seconds, print, "early")
    except (ValueError, OverflowError, TypeError):
        pass
await asyncio.sleep(1e18)
