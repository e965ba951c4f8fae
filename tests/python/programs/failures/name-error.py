# A misspelt name, with what Python suggests.
# message: any
total_count = 5
print(total_cuont)
