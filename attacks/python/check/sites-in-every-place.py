# attack: wrong calls in decorators, defaults, annotations, comprehensions, patterns and classes, where a walk of the tree may not look
# property: S44
# expect: error contract
def f(a=lambda: tools.shop.none_such()):
    pass


class C:
    x = lambda: [tools.shop.none_such(y) for y in z]


match 1:
    case 2 if tools.shop.none_such():
        pass
