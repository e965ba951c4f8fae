# A value that contains itself has no JSON form.
# message: any
row = {"id": 1}
row["self"] = row
row
