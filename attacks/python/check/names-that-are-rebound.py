# attack: gives the names of the gateway other meanings, whose calls the check must not take for calls of tools
# property: S44
# expect: value ["own", "own", 1]
class Own:
    def __getattr__(self, name):
        return lambda *args, **kwargs: "own"


def f(tools):
    return tools.shop.none_such(1, 2, 3)


class Ours:
    shop = Own()


kept = tools
tools = Ours()
first = tools.shop.list_customers("anything")
tools = kept
return [first, f(Ours()), len(tools.shop.list_customers(page_size=1)["items"])]
