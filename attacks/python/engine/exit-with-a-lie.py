# attack: exits with codes and messages that contradict what happened
# property: S38
# expect: contained
import sys


class Code(int):
    def __repr__(self):
        return "forged"

    __str__ = __repr__


sys.exit(Code(124))
