# zip strict, enumerate, reversed, sorted, iter with a sentinel, for-else, while-else.
names = [p for p in tools.wiki.list_pages()["pages"]]
for n, (name, letter) in enumerate(zip(names, "abcd", strict=True)):
    print(n, name, letter, end="; ")
print()
try:
    list(zip([1], [1, 2], strict=True))
except ValueError as e:
    print(e)
feed = iter([3, 2, 0, 9])
print(list(iter(lambda: next(feed), 0)), next(feed), list(reversed(range(3))))
for n in (2, 3, 5):
    if n % 4 == 0:
        break
else:
    print("no multiple of four")
n = 3
while n:
    n -= 1
    if n == 1:
        continue
else:
    print("counted down")
print(max(names, key=len), min("b", "a"), sum([[1], [2]], []), list(filter(None, [0, 1])), list(map(max, [1, 5], [4, 2])), any([]), all([]))
it = iter([1, 2, 3]); print(2 in it, list(it))
