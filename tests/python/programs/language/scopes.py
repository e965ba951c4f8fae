# global, nonlocal, class scope, del, builtins shadowed and found again.
total = 0

def add(n):
    global total, created
    total += n
    created = "by a function"

for issue in tools.github.list_issues(owner="a", repo="b", per_page=3)["issues"]:
    add(issue["number"])
print(total, created)

class Config:
    base = 10
    values = [base * n for n in range(1)] if False else [base]
    def get(self): return self.base

x = "outer"
def shadow():
    try:
        print(x)
    except UnboundLocalError as e:
        print(type(e).__name__)
    x = "inner"
shadow()
list_ = list
sum = "shadowed"
print(Config().get(), sum, __builtins__["sum"]([1, 2]) if isinstance(__builtins__, dict) else __builtins__.sum([1, 2]))
del sum
print(sum([1, 2]), "total" in globals(), [n for n in dir() if n == "created"], __name__)
try:
    del total
    total
except NameError as e:
    print(type(e).__name__, "total" in str(e))
