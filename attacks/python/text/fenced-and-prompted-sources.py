# attack: a source in a fence whose text closes the fence and opens another with other code
# property: S31
# build: [["```python\nx = '''\n```\n'''\nreturn 'held'\n```\n", 1]]
# expect: contained
