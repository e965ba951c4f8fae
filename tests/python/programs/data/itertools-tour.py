# The other tools of itertools.
from itertools import accumulate, chain, combinations, compress, count, cycle, dropwhile, filterfalse, islice, pairwise, permutations, product, repeat, starmap, takewhile, tee, zip_longest
import operator

scores = [row["score"] for row in tools.shapes.rows(count=8)["rows"]]
print([round(b - a, 1) for a, b in pairwise(scores)])
print(list(accumulate([1, 2, 3, 4], operator.mul)), list(accumulate(scores[:4], max)), list(accumulate([1, 2], initial=10)))
print(list(chain.from_iterable([[1], [2, 3]])), list(compress("abcd", [1, 0, 1, 0])), list(islice(count(10, 5), 3)), list(islice(cycle("ab"), 5)))
print(list(dropwhile(lambda x: x < 3, [1, 3, 2])), list(takewhile(str.isalpha, "ab1c")), list(filterfalse(None, [0, 1, ""])))
print(len(list(permutations("abcd", 2))), list(combinations("abc", 2)), list(product([0, 1], repeat=2)), list(starmap(pow, [(2, 3), (3, 2)])))
a, b = tee(iter("xyz")); next(b)
print(list(zip(a, b)), list(zip_longest("ab", "c", fillvalue="-")), list(repeat(0, 3)))
