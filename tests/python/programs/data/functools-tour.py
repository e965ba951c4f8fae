# reduce, partial, lru_cache, singledispatch, cmp_to_key.
from functools import cache, cmp_to_key, lru_cache, partial, reduce, singledispatch

@lru_cache(maxsize=None)
def contact_name(cid):
    return tools.crm.get_contact(id=cid)["name"]

names = [contact_name(d["contact_id"]) for d in tools.crm.list_deals()["deals"]]
info = contact_name.cache_info()
print(len(names), info.hits, info.misses)

@cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

print(fibonacci(90), reduce(lambda a, b: a * b, range(1, 11)), reduce(dict.__or__, [{"a": 1}, {"b": 2}, {"a": 3}]))

@singledispatch
def describe_value(value):
    return "something"

@describe_value.register
def _(value: int):
    return f"int {value}"

@describe_value.register(list)
def _(value):
    return f"list of {', '.join(map(describe_value, value))}"

print(describe_value([1, "x", [2]]))
search_open = partial(tools.tickets.search_tickets, status="open", max_results=1)
print('"total": 12' in search_open(), search_open.keywords)
by_version = cmp_to_key(lambda a, b: (a > b) - (a < b))
sorted([[1, 10], [1, 2], [0, 99]], key=by_version)
