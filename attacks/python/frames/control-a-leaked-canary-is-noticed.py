# control: the canary, given to this program as its input and printed, is noticed in the output
# property: S01
# input: "{{canary}}"
# expect: leak
print(input)
