# attack: returns halves of characters in texts and keys
# property: S25
# expect: contained
return ["a\udc00b", {"k\ud800": 1}, "\ud83d\ude00"]
