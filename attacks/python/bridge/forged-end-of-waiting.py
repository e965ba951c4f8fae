# attack: raises its own class named like the end of a program that waits for nothing
# property: S38
# expect: error exception
# message: forged
class NeverSettles(Exception):
    pass


raise NeverSettles("forged")
