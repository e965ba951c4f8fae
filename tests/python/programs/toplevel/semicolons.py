# Several statements on one line, the last one an expression.
x = 2; y = x ** 10; print(y); [x, y]
