# Sets of texts have one order in every run, though not the reference's.
print({"one", "two", "three", "four"} == {"four", "three", "two", "one"})
first = list({"one", "two", "three"})
print(first == list({"one", "two", "three"}), sorted(first))
