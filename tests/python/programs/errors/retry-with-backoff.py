# Retries a failing call with growing pauses, in plain functions.
import time

def with_retry(function, *args, attempts=4, base=0.002, **kwargs):
    for attempt in range(1, attempts + 1):
        try:
            return function(*args, **kwargs), attempt
        except ToolError as error:
            if attempt == attempts:
                raise
            print(f"attempt {attempt} failed: {error}")
            time.sleep(base * 2 ** attempt)

value, attempts = with_retry(tools.flaky.fetch, key="retry-with-backoff", fail_times=2)
print(attempts, value["ok"])
value
