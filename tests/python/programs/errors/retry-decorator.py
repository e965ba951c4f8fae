# The same as an async decorator with parameters.
import asyncio
import functools

def retry(times: int, on: tuple = (ToolError,)):
    def decorate(function):
        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            last = None
            for attempt in range(times):
                try:
                    return await function(*args, **kwargs)
                except on as error:
                    last = error
                    await asyncio.sleep(0.001 * (attempt + 1))
            raise RuntimeError(f"{function.__name__} failed {times} times") from last
        return wrapper
    return decorate

@retry(3)
async def load(key: str, fail_times: int) -> int:
    """Loads something."""
    return (await tools.flaky.fetch(key=key, fail_times=fail_times))["attempt"]

print(load.__name__, load.__doc__)
print(await load("retry-decorator-a", 1))
try:
    await load("retry-decorator-b", 10)
except RuntimeError as error:
    print(error, "|", error.__cause__)
