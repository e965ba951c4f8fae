# attack: recursion without end, caught at every level and begun again
# property: S24
# timeout_ms: 1500
# expect: error stack_limit|timeout|exception
def deeper():
    try:
        return deeper() + 1
    except BaseException:
        return deeper() + 1


deeper()
