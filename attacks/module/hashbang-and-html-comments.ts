// attack: a hashbang and comments of HTML, which some parsers skip and others run: what the first parser skipped never reaches the second
// property: S31
// build: [["#!/usr/bin/env node\nlet seen = 1;\n<!-- seen = 2;\nreturn seen;", 1]]
// expect: value 1
