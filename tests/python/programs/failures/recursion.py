# Recursion without an end.
# message: any
def depth(node):
    return 1 + depth(node)

depth({})
