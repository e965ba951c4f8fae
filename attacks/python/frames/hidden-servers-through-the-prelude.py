# attack: walks everything that the prelude keeps for names of tools that its patterns do not allow
# property: S43
# tools: ["shop.list_customers"]
# expect: value []
import gc

gc.unfreeze()
# Spelt in two parts, so that the program itself is not what is found.
hidden = [first + rest for first, rest in [("get_cus", "tomer"), ("list_or", "ders"), ("hasOwn", "Property")]]
told = []
for thing in gc.get_objects():
    if thing is hidden or type(thing) not in (dict, list, tuple, set, frozenset):
        continue
    for text in [*thing, *thing.values()] if type(thing) is dict else thing:
        # Longer texts are documentation, the same for every program.
        if type(text) is str and len(text) < 100 and any(word in text for word in hidden):
            told.append(text)
return told
