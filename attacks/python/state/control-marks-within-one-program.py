# control: the marks of the attacks below are found by the program that leaves them
# property: S12
# expect: value [1, 1, 1, 1, "x"]
import builtins
import json
import os
import sys

builtins.left = json.left = 1
sys.modules["left_module"] = os
os.environ["LEFT"] = "1"
with open("/tmp/left", "w") as file:
    file.write("x")
import left_module

return [left, json.left, int(left_module is os), int(os.environ["LEFT"]), open("/tmp/left").read()]
