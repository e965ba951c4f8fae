# attack: walks everything that the prelude keeps for names of tools that its patterns do not allow
# property: S43
# tools: ["shop.list_customers"]
# expect: value []
import gc
import sys

gc.unfreeze()
told = []
for thing in gc.get_objects():
    try:
        name = type(thing).__module__
        if type(thing) is dict:
            texts = [text for text in [*thing.keys(), *thing.values()] if type(text) is str]
        elif type(thing) in (list, tuple, set, frozenset):
            texts = [text for text in thing if type(text) is str]
        else:
            continue
    except Exception:
        continue
    own = sys._getframe().f_code.co_consts
    for text in texts:
        words = [a + b for a, b in [("get_cus", "tomer"), ("list_or", "ders"), ("no", "ted")]]
        if any(word in text for word in words) and len(text) < 5_000 and text not in own:
            told.append(text[:80])
return told
