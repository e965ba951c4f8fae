# `input` may be a list.
# input: [3, 1, 2, {"deep": ["x"]}]
*numbers, last = input
{"sorted": sorted(numbers), "deep": last["deep"][0], "length": len(input)}
