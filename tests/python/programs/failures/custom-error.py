# An error class of the program's own.
class PipelineError(Exception):
    def __init__(self, step, reason):
        super().__init__(f"{step} failed: {reason}")

def pipeline():
    for step in ("extract", "transform", "load"):
        print(step)
        if step == "transform":
            raise PipelineError(step, "no rows")

pipeline()
