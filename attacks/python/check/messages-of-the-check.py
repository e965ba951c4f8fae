# attack: hundreds of wrong calls with long names and control characters, to make the check's own words too long
# property: S25
# build: [["tools['shop']['none\\x1b[2J\\n", 1], ["x", 500], ["']()\n", 1], ["tools.shop.none_such_tool_at_all(argument_with_a_long_name=1)\n", 400]]
# expect: error contract
