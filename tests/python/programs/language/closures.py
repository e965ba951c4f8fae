# Closures, nonlocal, late binding, default arguments, currying.
def counter():
    count = 0
    def increment(by=1):
        nonlocal count
        count += by
        return count
    def reset():
        nonlocal count
        count = 0
    return increment, reset

increment, reset = counter()
increment(); increment(5)
print(increment(), reset(), increment())
late = [lambda: n for n in range(3)]
early = [lambda n=n: n for n in range(3)]
print([f() for f in late], [f() for f in early])

def remember(item, seen=[]):
    seen.append(item)
    return len(seen)

print(remember("a"), remember("b"), remember("c", []))
compose = lambda *functions: lambda x: [x := f(x) for f in functions][-1]
print(compose(str.strip, str.upper, len)("  abc "))
wiki = lambda slug: lambda key: tools.wiki.get_page(slug=slug)[key]
print(wiki("faq")("title"), increment.__closure__[0].cell_contents)
