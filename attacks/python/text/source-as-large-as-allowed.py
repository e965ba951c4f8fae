# attack: a source of exactly the greatest size, most of it one text
# property: S31
# build: [["return len('", 1], ["x", 262130], ["')", 1]]
# expect: value 262130
