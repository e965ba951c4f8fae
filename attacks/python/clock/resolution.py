# attack: samples every clock over many moments for the smallest step it can show
# property: S20
# timeout_ms: 10000
# expect: value []
import os
import time

readers = {
    "time": time.time_ns,
    "monotonic": time.monotonic_ns,
    "perf_counter": time.perf_counter_ns,
    "process": time.process_time_ns,
    "budget": lambda: round(budget.elapsed_ms * 1_000_000),
    "file": lambda: os.stat("/tmp/x").st_mtime_ns,
}
fine = []
for name, read in readers.items():
    samples = []
    for _ in range(200):
        time.sleep(0.000001)
        if name == "file":
            with open("/tmp/x", "w") as file:
                file.write("x")
        samples.append(read())
    steps = {later - earlier for earlier, later in zip(samples, samples[1:]) if later != earlier}
    if any(step < 0 for step in steps):
        fine.append(f"{name} runs backwards")
    elif any(step < 100_000 for step in steps):
        fine.append(f"{name} steps by {min(steps)} ns")
return fine
