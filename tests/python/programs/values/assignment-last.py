# A program that ends with an assignment to another name gives nothing.
answer = 42
