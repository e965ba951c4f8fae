# attack: a source whose lines end by every character that some reader takes for a line end
# property: S31
# build: [["x = 'held' # \u2028x = 'forged'\n# \u0085x = 'forged'\n# \u000bx = 'forged'\n# \u000cx = 'forged'\r\nreturn x", 1]]
# expect: value "held"
