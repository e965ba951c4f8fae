# An index too far.
rows = tools.database.query(sql="select id from customers where id > 100")["rows"]
print("rows:", len(rows))
print(rows[0][0])
