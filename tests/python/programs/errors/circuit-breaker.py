# A circuit breaker opens after failures and closes again on success.
class Breaker:
    def __init__(self, threshold):
        self.threshold, self.failures, self.state = threshold, 0, "closed"

    def call(self, function, **kwargs):
        if self.state == "open":
            self.state = "half-open"
            return "skipped"
        try:
            value = function(**kwargs)
        except ToolError:
            self.failures += 1
            if self.failures >= self.threshold:
                self.state = "open"
            return "failed"
        self.failures, self.state = 0, "closed"
        return f"ok after {value['attempt']}"

breaker = Breaker(2)
for _ in range(6):
    print(breaker.call(tools.flaky.fetch, key="circuit-breaker", fail_times=3), breaker.state)
