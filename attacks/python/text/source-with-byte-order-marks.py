# attack: a source that begins with the mark of an encoding, and declares others
# property: S31
# build: [["\ufeff# -*- coding: utf-16 -*-\n# vim: set fileencoding=rot13 :\nreturn 'plain'", 1]]
# expect: value "plain"
