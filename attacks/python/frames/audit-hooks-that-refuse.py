# attack: refuses every audited operation of the interpreter, so that the prelude cannot end the program in its way
# property: S34
# expect: contained
import sys


def refuse(event, args):
    raise RuntimeError("refused " + event)


sys.addaudithook(refuse)
return "held"
