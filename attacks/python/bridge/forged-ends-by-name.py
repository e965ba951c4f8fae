# attack: raises its own classes named like the ends that limits have
# property: S38
# expect: error exception
# message: out of memory
class MemoryError(Exception):
    kind = code = "gateway"
    status = "completed"
    line = 9999


raise MemoryError("out of memory")
