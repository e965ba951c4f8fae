# attack: raises its own class named like the end of a recursion
# property: S38
# expect: error exception
# message: forged
class RecursionError(Exception):
    pass


raise RecursionError("forged")
