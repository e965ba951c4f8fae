# attack: a source that declares an encoding in which its comments are code
# property: S31
# build: [["# -*- coding: utf-7 -*-\nx = 'held' #+AAo-x = 'forged'\n#+AAo-x = 'forged'\nreturn x", 1]]
# expect: value "held"
