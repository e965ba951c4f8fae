# attack: aborts
# property: S34
# expect: contained
import os

os.abort()
