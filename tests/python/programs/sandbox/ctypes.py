# Nothing can be reached below Python.
import ctypes

print(ctypes.sizeof(ctypes.c_int))
