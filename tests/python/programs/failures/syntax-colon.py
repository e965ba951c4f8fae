# A missing colon.
# message: any
for i in range(3)
    print(i)
